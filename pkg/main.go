// Command gpx_warpwatch is the data source's backend. Grafana starts it and speaks gRPC with it.
package main

import (
	"os"

	"github.com/grafana/grafana-plugin-sdk-go/backend/datasource"
	"github.com/grafana/grafana-plugin-sdk-go/backend/log"
	metrics "github.com/prometheus/client_golang/prometheus"

	"github.com/warpwatch/warpwatch/pkg/plugin"
)

func main() { os.Exit(run()) }

func run() int {
	instances, err := plugin.Factory(metrics.DefaultRegisterer)
	if err == nil {
		err = datasource.Manage("warpwatch-gpu-datasource", instances, datasource.ManageOpts{})
	}
	if err != nil {
		log.DefaultLogger.Error("Serving ended", "error", err)
		return 1
	}
	return 0
}
