package settings

import (
	"fmt"
	"log/slog"
)

// Secret is text that never shows itself: not in messages, not in logs, not in JSON. The zero value is "not set".
type Secret struct{ text string }

const redacted = "[redacted]"

// NewSecret wraps a secret.
func NewSecret(text string) Secret { return Secret{text: text} }

// IsSet reports whether there is a secret.
func (s Secret) IsSet() bool { return s.text != "" }

// Reveal is the secret itself, for the one place that sends it.
func (s Secret) Reveal() string { return s.text }

// String stands in for the secret.
func (s Secret) String() string {
	if !s.IsSet() {
		return ""
	}
	return redacted
}

// Format covers every verb, %#v and %x among them.
func (s Secret) Format(state fmt.State, _ rune) { _, _ = state.Write([]byte(s.String())) }

// MarshalText stands in for the secret in JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue stands in for the secret in log lines.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
