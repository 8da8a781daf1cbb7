package dashboards

import (
	"fmt"
	"strings"
)

// pluginFolder is where Grafana's packages and images have plugins.
const pluginFolder = "/var/lib/grafana/plugins/warpwatch-gpu-app"

// roles is a provisioning file of Grafana that puts each dashboard into the folder of its role.
func roles(all []Board) []byte {
	var out strings.Builder
	out.WriteString(`# Puts the dashboards of the app into a folder for each role; without it they are in the folder General. Copy it to
# provisioning/dashboards of Grafana, and change the paths where plugins are elsewhere. Grafana then owns the dashboards: it reads
# them from the app's files again after an update, and the app's own import says in the log that it leaves them alone.
# Written by ` + "`go tool mage dashboards`" + `.
apiVersion: 1

providers:
`)
	for _, b := range all {
		folder := "GPU " + folderOf(b.Role)
		fmt.Fprintf(&out, "  - name: %s\n    orgId: 1\n    type: file\n    folder: %s\n    folderUid: warpwatch-%s\n    allowUiUpdates: false\n    updateIntervalSeconds: 60\n    options:\n      path: %s/dashboards/%s.json\n",
			b.UID, folder, b.Role, pluginFolder, b.File)
	}
	return []byte(out.String())
}

// folderOf is how people call a role.
func folderOf(role string) string {
	name, known := map[string]string{
		"sre": "operations", "ml": "machine learning", "finops": "cost", "datacenter": "data centre", "platform": "platform", "executive": "overview",
		"capacity": "capacity", "network": "network",
	}[role]
	if !known {
		return role
	}
	return name
}
