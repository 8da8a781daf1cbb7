package history

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const (
	hidden = "[redacted]"
	// shortestHidden is how long a text must be to be looked for: shorter ones are in every message by chance.
	shortestHidden = 4
)

// cited is what a server wrote, as it may be shown: one line of bounded length, and without what it was sent as a secret.
// Servers, and proxies before them, repeat a request's headers in their messages.
func cited(resp *http.Response, text string) string { return clean(withoutEchoes(resp, text)) }

func citedAll(resp *http.Response, texts []string) []string {
	for i := range texts {
		texts[i] = withoutEchoes(resp, texts[i])
	}
	return texts
}

// withoutEchoes hides the values of the headers that the request was sent with: those of the settings, the identity of
// whoever asks, cookies. What every request has stays.
func withoutEchoes(resp *http.Response, text string) string {
	if text == "" || resp == nil || resp.Request == nil {
		return text
	}
	for _, secret := range sentSecrets(resp.Request.Header) {
		text = strings.ReplaceAll(text, secret, hidden)
	}
	return text
}

// sentSecrets are the texts that give a request's headers away, the longest first.
func sentSecrets(sent http.Header) []string {
	var all []string
	add := func(text string) {
		for _, form := range []string{text, url.QueryEscape(text), url.PathEscape(text)} {
			if len(form) >= shortestHidden {
				all = append(all, form)
			}
		}
	}
	for name, values := range sent {
		if isCommon(name) {
			continue
		}
		for _, value := range values {
			add(value)
			if _, token, ok := strings.Cut(value, " "); ok {
				add(token)
			}
		}
	}
	if _, encoded, ok := strings.Cut(sent.Get("Authorization"), "Basic "); ok {
		if plain, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			_, password, _ := strings.Cut(string(plain), ":")
			add(string(plain))
			add(password)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(all)
}

// isCommon is whether a header is nobody's secret.
func isCommon(name string) bool {
	switch name {
	case "Accept", "Accept-Encoding", "Content-Length", "Content-Type", "Idempotency-Key", "Referer", "User-Agent":
		return true
	}
	return false
}
