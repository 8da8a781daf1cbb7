package server

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/bcrypt"
)

// AccessOptions say what a request must show: a client certificate, if that is asked for, and a user's password or the
// token, if there are any.
type AccessOptions struct {
	Users       map[string]string // name → bcrypt hash of the password
	TokenFile   string            // "" for none; read for each request, so that a new token counts at once
	ClientCerts bool
	Logger      *slog.Logger // nil for none
}

// Access decides who may read. A nil Access lets everybody.
type Access struct {
	users       map[string]string
	tokenFile   string
	clientCerts bool
	logger      *slog.Logger
	said        atomic.Int64 // when the log was told that the token cannot be read, Unix seconds

	// bcrypt is slow on purpose: one at a time, and what was right once is remembered by its digest. Who is known does not
	// wait for those who guess.
	hashing sync.Mutex
	waiting atomic.Int64
	mu      sync.Mutex
	known   map[[sha256.Size]byte]bool
}

const (
	maxKnown  = 64
	saidEvery = time.Minute
	// maxWaiting is how many passwords may wait to be hashed: more are turned away, so that guessing takes no memory.
	maxWaiting = 16
	// unknownUser is the hash of a password nobody has, so that a wrong name takes as long as a wrong password.
	unknownUser = "$2a$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi"
)

// NewAccess lets in who has what is asked for. When nothing is, it is nil.
func NewAccess(o AccessOptions) (*Access, error) {
	if len(o.Users) == 0 && o.TokenFile == "" && !o.ClientCerts {
		return nil, nil
	}
	a := &Access{users: o.Users, tokenFile: o.TokenFile, clientCerts: o.ClientCerts, known: map[[sha256.Size]byte]bool{},
		logger: cmp.Or(o.Logger, slog.New(slog.DiscardHandler))}
	if o.TokenFile != "" {
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
		switch {
		case errors.Is(err, errNoCertificate):
			text(w, http.StatusUnauthorized, err.Error())
			return
		case errors.Is(err, errGuessing):
			tooMany(w, http.StatusTooManyRequests, err.Error())
			return
		case !errors.Is(err, errDenied):
			if now, last := time.Now().Unix(), a.said.Load(); now-last >= int64(saidEvery.Seconds()) && a.said.CompareAndSwap(last, now) {
				a.logger.Error("Nobody can be let in", "err", err)
			}
			text(w, http.StatusInternalServerError, "the agent cannot read the token that it compares with: see its log")
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

var (
	errDenied        = errors.New("wrong or missing credentials")
	errNoCertificate = errors.New("this agent wants a client certificate: see --web.config.file")
	errGuessing      = errors.New("too many passwords wait to be checked")
)

func (a *Access) check(r *http.Request) error {
	if a.clientCerts && (r.TLS == nil || len(r.TLS.VerifiedChains) == 0) {
		return errNoCertificate
	}
	if len(a.users) == 0 && a.tokenFile == "" {
		return nil
	}
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
	defer a.waiting.Add(-1)
	if a.waiting.Add(1) > maxWaiting {
		return errGuessing
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
