package plugin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-plugin-sdk-go/backend"

	"github.com/warpwatch/warpwatch/pkg/history/promtest"
)

func silenceOf(id, matchers string) string {
	return fmt.Sprintf(`{"id":%q,"status":{"state":"active"},"createdBy":"ada","comment":"new riser","startsAt":%q,"endsAt":%q,"matchers":[%s]}`,
		id, clockAt(60), clockAt(7200), matchers)
}

func equal(label, value string) string {
	return fmt.Sprintf(`{"name":%q,"value":%q,"isRegex":false,"isEqual":true}`, label, value)
}

// A silence of a place is maintenance: said with its id, end and creator, of what is well as of what is not, and it pages nobody.
// One that names an alert hides no other fault.
func TestHealthUnderSilences(t *testing.T) {
	d := withAlerts(t, "[]", "["+strings.Join([]string{
		silenceOf("node", equal("node", "n2")),
		silenceOf("board", equal("instance", "n1:9400")+","+equal("gpu", "1")),
		silenceOf("alert", equal("node", "n1")+","+equal("alertname", "GpuHot")),
	}, ",")+"]")
	all := answerTo(t, d, `{"queryType":"health","options":{"show":"gpus"}}`)
	wantCells(t, all[0], "node,gpu,verdict,severity,silence,silenced_by,silenced_until,runbook",
		"n1|1|maintenance|info|board|ada|00:40:00|maintenance", "n2|0|maintenance|info|node|ada|00:40:00|maintenance", "n1|0|ok|ok|||–|")
	counts := answerTo(t, d, `{"queryType":"health","options":{"show":"counts"}}`)
	wantCells(t, counts[0], "critical,warning,unknown,info,ok", "0|0|0|0|1")
	rules := askedAlert(t, d, `{"queryType":"health"}`)
	wantCells(t, rules[0], "node,gpu,severity", "n1|1|2", "n2|0|2", "n1|0|0")
}

// Work that the settings announce is the same; a sick GPU in it pages nobody either.
func TestHealthUnderAnnouncedMaintenance(t *testing.T) {
	s := &promtest.Store{}
	for i := range 3 {
		defaultFields(s, "n1", i, 0.9)
		dcgm(s, "DCGM_FI_DEV_ROW_REMAP_FAILURE", "n1", i, steady(float64(i/2)))
	}
	stored := fmt.Sprintf(`{"clusters":[{"name":"north","endpoints":[{"id":"a","url":%q}]}],"agents":{"discovery":"off"},"scrapeInterval":"15s",
		"insight":{"maintenance":[{"gpu":"GPU-n1-2","from":%q,"until":%q,"by":"mk","why":"swap"}]}}`, promtest.Serve(t, s), clockAt(0), clockAt(900))
	d := openDatasource(t, backend.DataSourceInstanceSettings{JSONData: []byte(stored)})
	d.now = sickFleet(t).now
	all := answerTo(t, d, `{"queryType":"health"}`)
	wantCells(t, all[0], "gpu,verdict,severity,more,silenced_by", "2|maintenance|info|Row remapping failed|mk", "0|ok|ok||", "1|ok|ok||")
	wantCells(t, all[1], "incident,silenced_by", "gpu/n1/GPU-n1-2/row-remap-failure|mk")
	rules := askedAlert(t, d, `{"queryType":"health","options":{"value":"incidents"}}`)
	wantCells(t, rules[0], "incident,severity", "gpu/n1/GPU-n1-2/row-remap-failure|2")
	events := answerTo(t, d, `{"queryType":"events","kinds":["silence"]}`)
	wantCells(t, events[0], "node,gpu,kind,origin,detail", "n1|2|silence|settings|maintenance by mk: swap")
}

// An Alertmanager that does not answer takes nothing from the answer, and is named.
func TestHealthWithoutAlertmanager(t *testing.T) {
	d := withAlerts(t, "[]", "broken")
	all := answerTo(t, d, `{"queryType":"health","options":{"show":"gpus"}}`)
	if all[0].Rows() != 3 || !strings.Contains(noticeTexts(all), "Who is in maintenance may not be known: Alertmanager am: ") {
		t.Errorf("%d rows, %s", all[0].Rows(), noticeTexts(all))
	}
}

// Labels say where nodes are and which firmware boards have.
func TestHealthKnowsPlacesAndFirmware(t *testing.T) {
	d := exported(t, func(s *promtest.Store) {
		for n := range 3 {
			node, version := fmt.Sprintf("n%d", n), "96.00.CF.00.01"
			if n == 2 {
				version = "96.00.89.00.01"
			}
			where := []string{"rack", "r7", "gpu_clique", fmt.Sprintf("abc.%d", n/2), "DCGM_FI_DEV_VBIOS_VERSION", version}
			for i := range 2 {
				defaultFields(s, node, i, 0.9, where...)
				dcgm(s, "DCGM_FI_DEV_XID_ERRORS", node, i, func(second int) float64 {
					if second >= 120 && i == 0 {
						return 149
					}
					return 0
				}, where...)
			}
		}
	})
	all := answerTo(t, d, `{"queryType":"health"}`)
	wantCells(t, all[1], "incident,scope,rack,domain", "fabric/abc.0/fabric|fabric|r7|NVLink domain abc.0", "gpu/n2/GPU-n2-0/xid-149|gpu||")
	if got := cellTexts(t, all[0], "node", "of", "rack", "nvlink_domain"); !slices.Contains(got, "n2|gpu|r7|abc.1") || !slices.Contains(got, "n0|gpu|r7|abc.0") {
		t.Errorf("got places %q", got)
	}
	if got := cellTexts(t, all[0], "node", "gpu", "verdict"); !strings.Contains(strings.Join(got, " "), "n2|1|vbios-mismatch") {
		t.Errorf("got %q, %s", got, noticeTexts(all))
	}
}
