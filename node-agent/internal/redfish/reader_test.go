package redfish

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/node-agent/internal/snapshot"
)

const password = "hunter2-&"

// service is a Redfish service with the tree of testdata.
type service struct {
	*httptest.Server
	ca string // file

	mu       sync.Mutex
	tree     map[string]json.RawMessage
	tokens   map[string]bool // sessions
	logins   int
	asked    map[string]int
	override func(http.ResponseWriter, *http.Request) bool // true when it answered
}

func newService(t *testing.T) *service {
	s := &service{tokens: map[string]bool{}, asked: map[string]int{}, ca: filepath.Join(t.TempDir(), "ca.pem")}
	text, err := os.ReadFile("testdata/tree.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &s.tree))
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	require.NoError(t, os.WriteFile(s.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600))
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := r.URL.RequestURI()
	s.asked[path]++
	if s.override != nil && s.override(w, r) {
		return
	}
	const sessions = "/redfish/v1/SessionService/Sessions"
	switch {
	case r.Method == http.MethodPost && path == sessions:
		var login struct{ UserName, Password string }
		if json.NewDecoder(r.Body).Decode(&login) != nil || login.UserName != "reader" || login.Password != password {
			http.Error(w, `{"error": {"code": "x", "message": "wrong: `+login.Password+`"}}`, http.StatusUnauthorized)
			return
		}
		s.logins++
		token := fmt.Sprint("token-", s.logins)
		s.tokens[token] = true
		w.Header().Set("X-Auth-Token", token)
		w.Header().Set("Location", sessions+"/"+token)
		w.WriteHeader(http.StatusCreated)
		return
	case r.Method == http.MethodDelete:
		delete(s.tokens, strings.TrimPrefix(path, sessions+"/"))
		w.WriteHeader(http.StatusNoContent)
		return
	case r.Method != http.MethodGet:
		http.Error(w, "read only", http.StatusMethodNotAllowed)
		return
	}
	user, pass, basic := r.BasicAuth()
	if path != "/redfish/v1/" && !s.tokens[r.Header.Get("X-Auth-Token")] && !(basic && user == "reader" && pass == password) {
		http.Error(w, "who?", http.StatusUnauthorized)
		return
	}
	body, ok := s.tree[path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	_, _ = w.Write(body)
}

func (s *service) config(t *testing.T) Config {
	file := filepath.Join(t.TempDir(), "credentials")
	require.NoError(t, os.WriteFile(file, []byte("reader:"+password+"\n"), 0o600))
	return Config{Endpoint: s.URL, CredentialsFile: file, CAFile: s.ca}
}

// newTestReader is a reader, and the log that it writes.
func newTestReader(t *testing.T, c Config) (*Reader, *strings.Builder) {
	t.Helper()
	log := &strings.Builder{}
	r, err := New(Options{Config: c, Logger: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	t.Cleanup(func() {
		r.drop(context.Background())
		r.guard.next.CloseIdleConnections()
		assert.NotContains(t, log.String()+r.Condition().Reason, "hunter2")
	})
	return r, log
}

const wholeTree = `
# HELP coolant_flow_liters_per_minute Flow of the coolant.
# TYPE coolant_flow_liters_per_minute gauge
coolant_flow_liters_per_minute{equipment="CDU1",sensor="1",side="primary"} 91.5
coolant_flow_liters_per_minute{equipment="CDU1",sensor="1",side="secondary"} 0
coolant_flow_liters_per_minute{equipment="Tray1",sensor="Flow",side=""} 3
# HELP coolant_heat_removed_watts Heat that the coolant takes away.
# TYPE coolant_heat_removed_watts gauge
coolant_heat_removed_watts{equipment="CDU1",sensor="1",side="primary"} 70500
# HELP coolant_leak_detected Whether a detector reports a leak: 1 when it does.
# TYPE coolant_leak_detected gauge
coolant_leak_detected{equipment="CDU1",sensor="Moisture",side=""} 0
coolant_leak_detected{equipment="Tray1",sensor="ColdPlate",side=""} 0
coolant_leak_detected{equipment="Tray1",sensor="Manifold",side=""} 1
# HELP coolant_pressure_difference_pascals Difference of the coolant's pressures at supply and return.
# TYPE coolant_pressure_difference_pascals gauge
coolant_pressure_difference_pascals{equipment="CDU1",sensor="1",side="primary"} 80000
# HELP coolant_pressure_pascals Pressure of the coolant.
# TYPE coolant_pressure_pascals gauge
coolant_pressure_pascals{equipment="CDU1",port="return",sensor="1",side="primary"} 220000
coolant_pressure_pascals{equipment="CDU1",port="supply",sensor="1",side="primary"} 300000
# HELP coolant_return_temperature_celsius Temperature of the coolant that goes back.
# TYPE coolant_return_temperature_celsius gauge
coolant_return_temperature_celsius{equipment="CDU1",sensor="1",side="primary"} 27
coolant_return_temperature_celsius{equipment="Tray1",sensor="LiquidOut",side=""} 41
# HELP coolant_supply_temperature_celsius Temperature of the coolant that comes in.
# TYPE coolant_supply_temperature_celsius gauge
coolant_supply_temperature_celsius{equipment="CDU1",sensor="1",side="primary"} 18.25
coolant_supply_temperature_celsius{equipment="Tray1",sensor="LiquidIn",side=""} 30
# HELP inlet_temperature_celsius Temperature of the air that the chassis takes in.
# TYPE inlet_temperature_celsius gauge
inlet_temperature_celsius{equipment="Old",sensor="0",side=""} 22
inlet_temperature_celsius{equipment="Tray1",sensor="Inlet",side=""} 24.5
`

func expect(t *testing.T, r *Reader, want string) {
	t.Helper()
	assert.NoError(t, testutil.GatherAndCompare(r, strings.NewReader(want)))
}

func TestAWholeTree(t *testing.T) {
	for _, auth := range []string{authSession, authBasic} {
		t.Run(auth, func(t *testing.T) {
			s := newService(t)
			c := s.config(t)
			c.Auth = auth
			r, log := newTestReader(t, c)
			r.Round(t.Context())
			assert.Equal(t, snapshot.StateOK, r.Condition().State)
			assert.Empty(t, r.Condition().Reason)
			expect(t, r, wholeTree)
			r.Round(t.Context())
			expect(t, r, wholeTree)
			assert.Equal(t, 1, s.asked["/redfish/v1/Chassis/Tray1/Sensors/GPU0"], "a sensor of no interest is asked once")
			assert.Equal(t, 2, s.asked["/redfish/v1/Chassis/Tray1/Sensors/Inlet"])
			assert.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
			problems, err := testutil.GatherAndLint(r)
			require.NoError(t, err)
			assert.Empty(t, problems)
		})
	}
}

func TestASessionThatEnded(t *testing.T) {
	s := newService(t)
	r, _ := newTestReader(t, s.config(t))
	r.Round(t.Context())
	clear(s.tokens)
	r.Round(t.Context())
	assert.Equal(t, 2, s.logins)
	assert.Equal(t, snapshot.StateOK, r.Condition().State)
	expect(t, r, wholeTree)
}

func TestAWrongPassword(t *testing.T) {
	s := newService(t)
	c := s.config(t)
	require.NoError(t, os.WriteFile(c.CredentialsFile, []byte("reader:hunter2-wrong"), 0o600))
	r, log := newTestReader(t, c)
	for range 3 {
		r.Round(t.Context())
	}
	assert.Equal(t, snapshot.StateNoAccess, r.Condition().State)
	assert.Equal(t, "log in: the service does not accept the login (401): check user and password", r.Condition().Reason)
	assert.Equal(t, 1, strings.Count(log.String(), "\n"), "said once")
	expect(t, r, "")
	// The file is read again for every login.
	require.NoError(t, os.WriteFile(c.CredentialsFile, []byte("reader:"+password), 0o600))
	r.Round(t.Context())
	assert.Equal(t, snapshot.StateOK, r.Condition().State)
}

func TestHalfATree(t *testing.T) {
	s := newService(t)
	s.tree["/redfish/v1/Chassis/Tray1/Sensors"] = json.RawMessage(`{"Members": "oops"}`)
	s.override = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.Contains(r.URL.Path, "CoolantConnectors/") {
			http.Error(w, "busy "+password, http.StatusServiceUnavailable)
			return true
		}
		return false
	}
	r, _ := newTestReader(t, s.config(t))
	r.Round(t.Context())
	is := r.Condition()
	assert.Equal(t, snapshot.StateOK, is.State)
	assert.Contains(t, is.Reason, "read /redfish/v1/Chassis/Tray1/Sensors: decode: ")
	assert.Contains(t, is.Reason, "; 3 resources in all")
	expect(t, r, `
# HELP coolant_leak_detected Whether a detector reports a leak: 1 when it does.
# TYPE coolant_leak_detected gauge
coolant_leak_detected{equipment="CDU1",sensor="Moisture",side=""} 0
coolant_leak_detected{equipment="Tray1",sensor="ColdPlate",side=""} 0
coolant_leak_detected{equipment="Tray1",sensor="Manifold",side=""} 1
# HELP inlet_temperature_celsius Temperature of the air that the chassis takes in.
# TYPE inlet_temperature_celsius gauge
inlet_temperature_celsius{equipment="Old",sensor="0",side=""} 22
inlet_temperature_celsius{equipment="Tray1",sensor="0",side=""} 99
`)
}

func TestAServiceThatGoesAway(t *testing.T) {
	s := newService(t)
	r, log := newTestReader(t, s.config(t))
	now := time.Unix(1_800_000_000, 0)
	r.now = func() time.Time { return now }
	r.Round(t.Context())
	s.Close()
	now = now.Add(time.Minute)
	r.Round(t.Context())
	assert.Equal(t, snapshot.StateFailed, r.Condition().State)
	assert.Equal(t, now, r.Condition().Since)
	expect(t, r, wholeTree)
	now = now.Add(3 * time.Minute)
	r.Round(t.Context())
	expect(t, r, "")
	assert.Equal(t, 2, strings.Count(log.String(), "\n"), log.String())
	assert.EqualValues(t, 1_800_000_000, testutil.ToFloat64(r.last))
}

func TestOtherHostsAreNotAsked(t *testing.T) {
	elsewhere := newService(t)
	host := strings.TrimPrefix(elsewhere.URL, "https://")
	for name, change := range map[string]func(*service){
		"redirect": func(s *service) {
			s.override = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/redfish/v1/Chassis" {
					http.Redirect(w, r, elsewhere.URL+"/redfish/v1/Chassis", http.StatusFound)
					return true
				}
				return false
			}
		},
		"redirect of the login": func(s *service) {
			s.override = func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPost {
					http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
				}
				return r.Method == http.MethodPost
			}
		},
		"a link that becomes a host": func(s *service) {
			s.tree["/redfish/v1/Chassis"] = json.RawMessage(`{"Members": [{"@odata.id": "@` + host + `/redfish/v1/Chassis/Tray1"}, {"@odata.id": "https://` + host + `/redfish/v1/"}]}`)
		},
		"a login that becomes a host": func(s *service) {
			s.tree["/redfish/v1/"] = json.RawMessage(strings.ReplaceAll(string(s.tree["/redfish/v1/"]), `"/redfish/v1/SessionService/Sessions"`, `"@`+host+`/redfish/v1/SessionService/Sessions"`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			change(s)
			r, _ := newTestReader(t, s.config(t))
			r.Round(t.Context())
			assert.Contains(t, r.Condition().Reason, errElsewhere.Error())
			assert.Empty(t, elsewhere.asked)
		})
	}
}

func TestARedirectWithinTheHostIsFollowed(t *testing.T) {
	s := newService(t)
	s.override = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.RequestURI() == "/redfish/v1/Chassis" && r.URL.RawQuery == "" {
			s.tree["/redfish/v1/Chassis/"] = s.tree["/redfish/v1/Chassis"]
			http.Redirect(w, r, "/redfish/v1/Chassis/", http.StatusPermanentRedirect)
			return true
		}
		return false
	}
	r, _ := newTestReader(t, s.config(t))
	r.Round(t.Context())
	expect(t, r, wholeTree)
}

func TestAnswersAreBounded(t *testing.T) {
	s := newService(t)
	s.tree["/redfish/v1/Chassis/Old"] = json.RawMessage(`{"Id": "` + strings.Repeat("x", maxBody) + `"}`)
	r, _ := newTestReader(t, s.config(t))
	r.Round(t.Context())
	assert.Equal(t, "read /redfish/v1/Chassis/Old: decode: the answer is longer than 1048576 bytes", r.Condition().Reason)

	endless := newService(t)
	endless.tree["/redfish/v1/Chassis"] = json.RawMessage(`{"Members": [` + strings.Repeat(`{"@odata.id": "/redfish/v1/Chassis/Old"},`, 2*maxRequests) + `{}]}`)
	r, _ = newTestReader(t, endless.config(t))
	r.Round(t.Context())
	assert.Contains(t, r.Condition().Reason, errTooMany.Error())
	total := 0
	for _, n := range endless.asked {
		total += n
	}
	assert.LessOrEqual(t, total, maxRequests)
}

func TestASlowAnswerEndsWithItsTime(t *testing.T) {
	s := newService(t)
	s.override = func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/redfish/v1/Chassis/Old" {
			<-r.Context().Done()
			return true
		}
		return false
	}
	c := s.config(t)
	c.Timeout = 300 * time.Millisecond
	r, _ := newTestReader(t, c)
	r.Round(t.Context())
	assert.Equal(t, snapshot.StateOK, r.Condition().State)
	assert.Contains(t, r.Condition().Reason, "Chassis/Old")
	assert.Contains(t, r.Condition().Reason, "deadline exceeded")
}

func TestCertificatesAreVerified(t *testing.T) {
	s := newService(t)
	c := s.config(t)
	c.CAFile = ""
	r, _ := newTestReader(t, c)
	r.Round(t.Context())
	assert.Contains(t, r.Condition().Reason, "certificate")
	assert.Zero(t, s.logins)
}

func TestRunLogsOutAtItsEnd(t *testing.T) {
	s := newService(t)
	c := s.config(t)
	c.CAFile, c.InsecureSkipVerify = "", true
	log := &strings.Builder{}
	own := prometheus.NewRegistry()
	r, err := New(Options{Config: c, Registerer: own, Labels: prometheus.Labels{"node": "n1"}, Logger: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	problems, err := testutil.GatherAndLint(own)
	require.NoError(t, err)
	assert.Empty(t, problems)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.Run(ctx) }()
	require.Eventually(t, func() bool { return r.Condition().State == snapshot.StateOK }, time.Minute, time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
	assert.Equal(t, 1, s.logins)
	assert.Empty(t, s.tokens, "no session is left behind")
	assert.Contains(t, log.String(), "trusts whoever answers")
}

func TestRejectedConfigurations(t *testing.T) {
	require.NoError(t, Config{}.Validate())
	for want, change := range map[string]func(*Config){
		"redfish: endpoint must be given, or the whole section left out":                     func(c *Config) { c.Endpoint = "" },
		"redfish: endpoint must be a URL like https://bmc.example":                           func(c *Config) { c.Endpoint = "http://bmc" },
		"redfish: endpoint must not hold a user or password: put them into credentials_file": func(c *Config) { c.Endpoint = "https://me:hunter2@bmc" },
		"redfish: endpoint must end with the host or its port: /redfish/v1 is added":         func(c *Config) { c.Endpoint = "https://bmc/redfish/v1" },
		"redfish: interval: 5s must be 10s to 1h0m0s":                                        func(c *Config) { c.Interval = 5 * time.Second },
		"redfish: timeout: 2m0s must be more than 0s and at most 1m0s":                       func(c *Config) { c.Timeout = 2 * time.Minute },
		`redfish: auth: "digest" must be "session" or "basic"`:                               func(c *Config) { c.Auth = "digest" },
		"redfish: either credentials_file, or username_file and password_file must be given": func(c *Config) { c.UsernameFile = "x" },
		"redfish: ca_file and insecure_skip_verify exclude each other":                       func(c *Config) { c.CAFile, c.InsecureSkipVerify = "x", true },
	} {
		c := Config{Endpoint: "https://bmc", CredentialsFile: "x"}
		require.NoError(t, c.Validate())
		change(&c)
		assert.EqualError(t, c.Validate(), want)
	}
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte("hunter2"), 0o600))
	_, err := New(Options{Config: Config{Endpoint: "https://bmc", CredentialsFile: file}})
	assert.EqualError(t, err, "redfish: credentials_file: "+file+" must hold user:password")
	user, pass, err := Config{UsernameFile: file, PasswordFile: file}.credentials()
	require.NoError(t, err)
	assert.Equal(t, []string{"hunter2", "hunter2"}, []string{user, pass})
	_, err = New(Options{})
	assert.EqualError(t, err, "redfish: no endpoint is configured")
}
