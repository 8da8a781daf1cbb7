// Command gpx_warpwatch is the data source's backend. Grafana starts it and speaks gRPC with it.
package main

import (
	"os"

	"github.com/grafana/grafana-plugin-sdk-go/backend/datasource"
	"github.com/grafana/grafana-plugin-sdk-go/backend/log"

	"github.com/warpwatch/warpwatch/pkg/plugin"
)

func main() { os.Exit(run()) }

func run() int {
	if err := datasource.Manage("warpwatch-gpu-datasource", plugin.NewDatasource, datasource.ManageOpts{}); err != nil {
		log.DefaultLogger.Error("Serving ended", "error", err)
		return 1
	}
	return 0
}
