package history

import (
	"errors"
	"net/http"
)

// pointed is a server's refusal of an expression, told at the place in the user's text where Prometheus' parser found
// something wrong too. The server's own words stay, because its language may be another.
func pointed(err, found error) error {
	var refused *Error
	if found == nil || !errors.As(err, &refused) || refused.Kind != KindBadQuery ||
		refused.Status != http.StatusBadRequest && refused.Status != http.StatusUnprocessableEntity {
		return err
	}
	told := *refused
	told.Message = found.Error() + " (the server says: " + refused.Message + ")"
	return &told
}
