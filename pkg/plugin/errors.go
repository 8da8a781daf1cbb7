package plugin

import (
	"context"
	"errors"
	"fmt"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/history"
)

// inputError is something the user can mend: settings, a query, a parameter.
type inputError struct{ err error }

func (e *inputError) Error() string { return e.err.Error() }
func (e *inputError) Unwrap() error { return e.err }

func badInput(err error) error { return &inputError{err} }

// unusable is the answer to everything while the settings cannot be used.
func (d *Datasource) unusable() error {
	return badInput(fmt.Errorf("the data source's settings cannot be used: %w", d.broken))
}

// sidesError is an answer that neither history nor agents could give.
type sidesError struct {
	cause error // decides the status
	text  string
}

func (e *sidesError) Error() string { return e.text }
func (e *sidesError) Unwrap() error { return e.cause }

// failure is where errors get their source and status. What a user, a server or an agent did wrong is downstream;
// what is left is the plugin's own.
func (d *Datasource) failure(ctx context.Context, err error) backend.DataResponse {
	var (
		input  *inputError
		server *history.Error
		sides  *sidesError
	)
	response := backend.DataResponse{Error: err, ErrorSource: backend.ErrorSourceDownstream}
	switch {
	case errors.As(err, &input):
		response.Status = backend.StatusBadRequest
	case errors.As(err, &server):
		response.Status = serverStatus(server)
	case errors.Is(err, context.Canceled):
		response.Status = statusClientClosed
	case errors.Is(err, context.DeadlineExceeded):
		response.Status = backend.StatusTimeout
	case errors.As(err, &sides):
		response.Status = backend.StatusBadGateway
	default:
		response.Status, response.ErrorSource = backend.StatusInternal, backend.ErrorSourcePlugin
		d.logger.FromContext(ctx).Error("Answer a request", "error", err)
	}
	return response
}

// statusClientClosed is what Grafana itself uses for a request that its user gave up.
const statusClientClosed backend.Status = 499

// serverStatus keeps what a server said where it means something to the user, so that an overloaded server is not
// taken for a bad query.
func serverStatus(e *history.Error) backend.Status {
	switch e.Kind {
	case history.KindTimeout:
		return backend.StatusTimeout
	case history.KindBadQuery:
		return backend.StatusBadRequest
	case history.KindThrottled:
		return backend.StatusTooManyRequests
	case history.KindCanceled:
		return statusClientClosed
	case history.KindUnauthorized:
		if e.Status == int(backend.StatusForbidden) {
			return backend.StatusForbidden
		}
		return backend.StatusUnauthorized
	case history.KindUnavailable:
		if e.Status >= 500 {
			return backend.Status(e.Status)
		}
	}
	return backend.StatusBadGateway
}
