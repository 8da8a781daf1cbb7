package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	defaultRelease = 2 * time.Minute
	// MaxRelease is for how long the GPUs may be let go.
	MaxRelease = time.Hour
)

// Control is what may be asked of the agent from outside. What is nil is not offered.
type Control struct {
	// Reload reads the configuration again. pending are the keys that changed and take effect only after a restart.
	Reload func(context.Context) (pending []string, err error)
	// Release lets go of the GPUs for a while, so that they can be reset or split.
	Release func(context.Context, time.Duration) error
	// Resume takes them back early.
	Resume func(context.Context) error
}

const needsAccess = "this agent lets everybody in, so it does not let anybody control it: set basic_auth_users or " +
	"client certificates in --web.config.file, or --web.bearer-token-file"

// post is a handler of requests that change something: not for another site's page in somebody's browser.
func post(next http.HandlerFunc) http.HandlerFunc {
	origins := http.NewCrossOriginProtection()
	return func(w http.ResponseWriter, r *http.Request) {
		if err := origins.Check(r); err != nil {
			text(w, http.StatusForbidden, "requests that come from another site's page are refused")
			return
		}
		next(w, r)
	}
}

// control is a handler of requests that control the agent: only for those who showed who they are.
func (s *Server) control(act string, do func(r *http.Request) (answer string, err error)) http.HandlerFunc {
	return post(func(w http.ResponseWriter, r *http.Request) {
		if s.o.Access == nil {
			text(w, http.StatusForbidden, needsAccess)
			return
		}
		if do == nil {
			text(w, http.StatusNotFound, "this agent cannot "+act)
			return
		}
		answer, err := do(r)
		var mistake *mistakeError
		switch {
		case errors.As(err, &mistake):
			text(w, http.StatusBadRequest, err.Error())
		case err != nil:
			s.o.Logger.Warn("A request failed", "to", act, "from", r.RemoteAddr, "err", err)
			text(w, http.StatusInternalServerError, fmt.Sprintf("%s: %v", act, err))
		default:
			s.o.Logger.Info("Asked from outside", "to", act, "from", r.RemoteAddr)
			text(w, http.StatusOK, answer)
		}
	})
}

// mistakeError is a request that asks for what cannot be.
type mistakeError struct{ message string }

func (e *mistakeError) Error() string { return e.message }

func (s *Server) controls(mux *http.ServeMux) {
	c := s.o.Control
	const done = "ok"
	var reload, release, resume func(*http.Request) (string, error)
	if c.Reload != nil {
		reload = func(r *http.Request) (string, error) {
			pending, err := c.Reload(r.Context())
			if len(pending) > 0 {
				return "ok, but these take effect only when the agent is started again: " + strings.Join(pending, ", "), err
			}
			return done, err
		}
	}
	if c.Release != nil {
		release = func(r *http.Request) (string, error) {
			d, err := releaseFor(r.URL.Query().Get("for"))
			if err != nil {
				return "", err
			}
			return done, c.Release(r.Context(), d)
		}
	}
	if c.Resume != nil {
		resume = func(r *http.Request) (string, error) { return done, c.Resume(r.Context()) }
	}
	mux.Handle("POST /-/reload", s.limitRequests(s.control("read the configuration again", reload)))
	mux.Handle("POST /-/release", s.limitRequests(s.control("let go of the GPUs", release)))
	mux.Handle("POST /-/resume", s.limitRequests(s.control("take the GPUs back", resume)))
}

// releaseFor is how long to let go of the GPUs.
func releaseFor(text string) (time.Duration, error) {
	if text == "" {
		return defaultRelease, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > MaxRelease {
		return 0, &mistakeError{fmt.Sprintf("for=%.40q: must be like 90s or 2m, up to %s", text, MaxRelease)}
	}
	return d, nil
}

// receive takes what jobs send. Without access control only those on this node may.
func (s *Server) receive() http.HandlerFunc {
	return post(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case s.o.Receive == nil:
			text(w, http.StatusNotFound, "this agent takes no metrics over OTLP")
		case s.o.Access == nil && !isLoopback(r):
			text(w, http.StatusForbidden, "this agent lets everybody in, so it takes metrics from this node alone: set basic_auth_users or "+
				"client certificates in --web.config.file, or --web.bearer-token-file")
		default:
			s.o.Receive.ServeHTTP(w, r)
		}
	})
}
