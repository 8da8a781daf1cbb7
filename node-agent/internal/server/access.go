package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"

	"golang.org/x/crypto/bcrypt"
)

// Access decides who may read. A nil Access lets everybody.
type Access struct {
	users     map[string]string // name → bcrypt hash of the password
	tokenFile string            // "" for none; read for each request, so that a new token counts at once

	// bcrypt is slow on purpose: one at a time, and what was right once is remembered by its digest. Who is known does not
	// wait for those who guess.
	hashing sync.Mutex
	mu      sync.Mutex
	known   map[[sha256.Size]byte]bool
}

const (
	maxKnown = 64
	// unknownUser is the hash of a password nobody has, so that a wrong name takes as long as a wrong password.
	unknownUser = "$2a$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"
)

// NewAccess lets in the users, and whoever has the token in the file. With neither it is nil.
func NewAccess(users map[string]string, tokenFile string) (*Access, error) {
	if len(users) == 0 && tokenFile == "" {
		return nil, nil
	}
	a := &Access{users: users, tokenFile: tokenFile, known: map[[sha256.Size]byte]bool{}}
	if tokenFile != "" {
		if _, err := a.token(); err != nil {
			return nil, err
		}
	}
	return a, nil
}

func (a *Access) token() (string, error) {
	content, err := os.ReadFile(a.tokenFile)
	if err != nil {
		return "", fmt.Errorf("read --web.bearer-token-file: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if token == "" {
		return "", fmt.Errorf("read --web.bearer-token-file: %s is empty", a.tokenFile)
	}
	return token, nil
}

// protect passes on the requests of those who may read.
func (a *Access) protect(next http.Handler) http.Handler {
	if a == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := a.check(r)
		if err == nil {
			next.ServeHTTP(w, r)
			return
		}
		if !errors.Is(err, errDenied) {
			text(w, http.StatusInternalServerError, err.Error())
			return
		}
		if len(a.users) > 0 {
			w.Header().Add("WWW-Authenticate", `Basic realm="warpwatch-agent"`)
		}
		if a.tokenFile != "" {
			w.Header().Add("WWW-Authenticate", `Bearer realm="warpwatch-agent"`)
		}
		text(w, http.StatusUnauthorized, "this agent wants credentials: see --web.config.file and --web.bearer-token-file")
	})
}

var errDenied = errors.New("wrong or missing credentials")

func (a *Access) check(r *http.Request) error {
	if name, password, ok := r.BasicAuth(); ok {
		return a.checkPassword(name, password)
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if a.tokenFile == "" || !strings.EqualFold(scheme, "Bearer") {
		return errDenied
	}
	want, err := a.token()
	if err != nil {
		return err
	}
	x, y := sha256.Sum256([]byte(strings.TrimSpace(given))), sha256.Sum256([]byte(want))
	if subtle.ConstantTimeCompare(x[:], y[:]) != 1 {
		return errDenied
	}
	return nil
}

func (a *Access) checkPassword(name, password string) error {
	hash, exists := a.users[name]
	if !exists {
		hash = unknownUser
	}
	key := sha256.Sum256([]byte(name + "\x00" + hash + "\x00" + password))
	if a.knows(key) {
		return nil
	}
	a.hashing.Lock()
	defer a.hashing.Unlock()
	if a.knows(key) { // by now
		return nil
	}
	if err := bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)); err != nil || !exists {
		return errDenied
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.known) >= maxKnown {
		clear(a.known)
	}
	a.known[key] = true
	return nil
}

func (a *Access) knows(key [sha256.Size]byte) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known[key]
}
