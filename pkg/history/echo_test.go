package history

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

// sending adds headers on the way, as the SDK's clients do.
type sending http.Header

func (s sending) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, values := range s {
		req.Header[name] = values
	}
	return http.DefaultTransport.RoundTrip(req)
}

// What a server repeats of a request's headers is in no message, however it repeats them, and what else it says is.
func TestEchoedCredentialsAreHidden(t *testing.T) {
	sent := sending{
		"Authorization": {"Basic YWRhOmh1bnRlcjItbWFyaw=="}, // ada:hunter2-mark
		"X-Api-Key":     {"key-mark"}, "Cookie": {"session=cookie-mark"}, "X-Id-Token": {"Bearer identity mark"},
	}
	echoes := func(r *http.Request) string {
		return fmt.Sprintf("tenant alpha is refused; %s %s %s %s ada:hunter2-mark password=hunter2-mark identity%%20mark identity+mark",
			r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"), r.Header.Get("Cookie"), r.Header.Get("X-Id-Token"))
	}
	body := func(r *http.Request, before string) string {
		said, err := json.Marshal(before + echoes(r))
		if err != nil {
			t.Error(err)
		}
		return `{"status":"error","errorType":"execution","error":` + string(said) + `}`
	}
	for name, handler := range map[string]http.HandlerFunc{
		"a refusal": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, body(r, ""))
		},
		"a refusal with a good status": func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, body(r, "")) },
		"a failure": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, body(r, ""))
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/tenant alpha/"+strings.Fields(r.Header.Get("Authorization"))[1]+"/hunter2-mark/key-mark", http.StatusFound)
		},
		"a login page": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/login/tenant alpha/hunter2-mark/key-mark", http.StatusFound)
		},
		"a message that is cut in the middle of one": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, body(r, "tenant alpha "+strings.Repeat("x", 1000-len("tenant alpha tenant alpha is refused; Basic YWRh"))))
		},
	} {
		e := Endpoint{ID: "north-a", URL: promtest.Serve(t, handler), Timeout: 5 * time.Second, HTTP: &http.Client{Transport: sent}}
		message := failureAt(t, e).Error()
		for _, mark := range []string{"mark", "hunter2", "YWRh"} {
			if strings.Contains(message, mark) {
				t.Errorf("%s shows %s: %s", name, mark, message)
			}
		}
		if !strings.Contains(strings.ReplaceAll(message, "%20", " "), "tenant alpha") {
			t.Errorf("%s is not told: %s", name, message)
		}
	}
	url := promtest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said, _ := json.Marshal([]string{echoes(r)})
		_, _ = fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[]},"warnings":%s,"infos":%[1]s}`, said)
	}))
	result := promQL(t, openAt(t, Endpoint{ID: "a", URL: url, HTTP: &http.Client{Transport: sent}}), `{"expr":"up","instant":true}`)
	told := fmt.Sprint(result.Notices)
	if strings.Contains(told, "mark") || strings.Contains(told, "YWRh") || !strings.Contains(told, "tenant alpha is refused; [redacted]") {
		t.Errorf("notices %s", told)
	}
}
