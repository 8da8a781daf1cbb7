package insight

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// Overlay reads settings that are given in part over base, and checks the whole. It does not change base, which must not
// hold maps or slices that part may name. An error names the key that is not known, or what cannot be.
func Overlay[S interface{ Validate() error }](base S, part json.RawMessage) (S, error) {
	whole := base
	if len(part) > 0 {
		decoder := json.NewDecoder(bytes.NewReader(part))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&whole); err != nil {
			return base, err
		}
	}
	if err := whole.Validate(); err != nil {
		return base, err
	}
	return whole, nil
}

// Plain is an error of Overlay without the name of the package that read it; nil for nil.
func Plain(err error) error {
	if err == nil {
		return nil
	}
	if text, is := strings.CutPrefix(err.Error(), "json: "); is {
		return errors.New(text)
	}
	return err
}
