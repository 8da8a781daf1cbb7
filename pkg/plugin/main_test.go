package plugin

import (
	"testing"

	"github.com/grafana/grafana-plugin-sdk-go/backend"
	"github.com/grafana/grafana-plugin-sdk-go/backend/log"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	log.DefaultLogger = log.NewNullLogger()
	backend.Logger = log.DefaultLogger
	goleak.VerifyTestMain(m,
		// Belong to the SDK's own package state.
		goleak.IgnoreTopFunction("github.com/patrickmn/go-cache.(*janitor).Run"),
	)
}
