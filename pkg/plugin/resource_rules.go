package plugin

import (
	"net/http"

	"github.com/warpwatch/warpwatch/pkg/history"
)

type rulesAnswer struct {
	Servers []recordedInfo `json:"servers"`
	Notices []noticeInfo   `json:"notices"`
}

type recordedInfo struct {
	Server   string   `json:"server"`
	Cluster  string   `json:"cluster"`
	Recorded []string `json:"recorded"` // names of rules that it has series of
}

// serveRules tells of each Prometheus which recording rules it has series of, for the page that offers them.
func (d *Datasource) serveRules(r *http.Request) (any, error) {
	if d.broken != nil {
		return nil, d.unusable()
	}
	found, notices, err := d.history.Recorded(r.Context())
	if err != nil {
		return nil, err
	}
	answer := rulesAnswer{Servers: []recordedInfo{}, Notices: d.noticeInfos(notices)}
	for _, f := range found {
		answer.Servers = append(answer.Servers, recordedInfoOf(f))
	}
	return answer, nil
}

func recordedInfoOf(r history.Recorded) recordedInfo {
	return recordedInfo{Server: r.Endpoint, Cluster: r.Cluster, Recorded: append([]string{}, r.Names...)}
}
