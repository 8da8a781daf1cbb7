package settings

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAlertmanagers(t *testing.T) {
	s, err := Parse(json.RawMessage(`{"clusters":[{"name":"n","endpoints":[{"id":"p","url":"http://p"}]}],"alertmanagers":[
		{"id":"a","url":" https://am.example.com/alertmanager/api/v2/ ","cluster":" north ","auth":"bearer","headers":["X-Scope-OrgID"],"serverName":"am","timeout":"3s","secureSocksProxy":true},
		{"id":"b","url":"http://am-b:9093"}]}`), map[string]string{"alertmanager_a_token": "t", "alertmanager_a_header_X-Scope-OrgID": "1", "alertmanager_c_token": "x"})
	if err != nil {
		t.Fatal(err)
	}
	a, b := s.Alertmanagers[0], s.Alertmanagers[1]
	if a.URL != "https://am.example.com/alertmanager" || a.Cluster != "north" || a.Auth.Secret.Reveal() != "t" || a.Timeout != 3*time.Second || a.TLS.ServerName != "am" ||
		len(a.Headers) != 1 || a.Forward != ForwardNever || !s.WantsSecureSocks() {
		t.Errorf("got %+v", a)
	}
	if b.Timeout != DefaultAlertmanagerTimeout || b.Auth.Method != NoAuth || b.Forward != ForwardNever {
		t.Errorf("got %+v", b)
	}
	if !slices.Equal(s.Unknown, []string{"secureJsonData.alertmanager_c_token"}) {
		t.Errorf("unknown %q", s.Unknown)
	}
}

func TestAlertmanagersThatCannotBe(t *testing.T) {
	for written, want := range map[string]string{
		`{"url":"http://a"}`:                                      `alertmanagers[0].id: is empty`,
		`{"id":"a b","url":"http://a"}`:                           `alertmanagers[0].id: "a b" is not an id`,
		`{"id":"a","url":"http://a"},{"id":"a","url":"http://b"}`: `alertmanagers[1].id: "a" is taken by alertmanagers[0]`,
		`{"id":"a"}`:                                              `alertmanagers[0].url: is empty: write the address of Alertmanager`,
		`{"id":"a","url":"am:9093"}`:                              `alertmanagers[0].url: `,
		`{"id":"a","url":"http://u:secret@am:9093"}`:              `alertmanagers[0].url: holds a user or password`,
		`{"id":"a","url":"http://a","auth":"basic"}`:              `alertmanagers[0].user: is empty`,
		`{"id":"a","url":"http://a","auth":"bearer"}`:             `secureJsonData.alertmanager_a_token: is not set`,
		`{"id":"a","url":"http://a","headers":["X-A"]}`:           `secureJsonData.alertmanager_a_header_X-A: is not set`,
		`{"id":"a","url":"http://a","timeout":"2h"}`:              `alertmanagers[0].timeout: 2h0m0s is out of range`,
		strings.Repeat(`{"id":"a","url":"http://a"},`, 20) + `{}`: `alertmanagers: `,
	} {
		_, err := Parse(json.RawMessage(`{"alertmanagers":[`+written+`]}`), nil)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%s:\n got %v\nwant %s", written, err, want)
		}
	}
}
