package server

import (
	"fmt"
	"net"
	"net/http"

	"golang.org/x/time/rate"
)

const (
	// defaultRequests is how many plain requests are answered at once when nothing is configured, as exporters do.
	defaultRequests = 40
	// largeRequests is how many of them may have an answer of megabytes, which is in memory until it is read.
	largeRequests = 8
	// maxBody is the longest body of a request, where a handler does not know better.
	maxBody = 16 << 20
)

// limitRate turns requests away that come too fast. A nil limiter lets all pass.
func limitRate(limiter *rate.Limiter, next http.Handler) http.Handler {
	if limiter == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !limiter.Allow() {
			tooMany(w, http.StatusTooManyRequests, "requests come faster than rate_limit of --web.config.file allows")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// limitRequests answers a number of requests at once, and turns the others away.
func (s *Server) limitRequests(next http.Handler) http.Handler { return s.limitTo(s.places, next) }

// limitLarge is limitRequests for those with a large answer.
func (s *Server) limitLarge(next http.Handler) http.Handler {
	return s.limitRequests(s.limitTo(s.large, next))
}

func (s *Server) limitTo(places chan struct{}, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
			defer func() { <-places }()
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
			next.ServeHTTP(w, r)
		default:
			s.figures.busy.Inc()
			tooMany(w, http.StatusServiceUnavailable, fmt.Sprintf("this agent answers %d such requests at once, which is its limit", cap(places)))
		}
	})
}

// tooMany turns a request away that may be made again.
func tooMany(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Retry-After", "1")
	text(w, status, message)
}

// remote is the address that a request comes from, without the port.
func remote(r *http.Request) string { return hostOf(r.RemoteAddr) }

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

// isLoopback reports whether a request comes from this node.
func isLoopback(r *http.Request) bool {
	ip := net.ParseIP(remote(r))
	return ip != nil && ip.IsLoopback()
}
