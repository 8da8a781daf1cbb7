package live

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// Where there may soon be more to find, it is looked for soon: users must not read for half a minute that a server is
// down which is up again.
func TestIncompleteTargetsAreAskedForSoon(t *testing.T) {
	agent := Target{Node: "n1", Address: "n1:9847", Scheme: "http"}
	for name, tc := range map[string]struct {
		targets []Target
		notices []gpu.Notice
		after   time.Duration // when it is asked again
	}{
		"a server is down":       {[]Target{agent}, []gpu.Notice{{Severity: gpu.Warning, Text: "down"}}, retryTargets},
		"nobody was scraped yet": {nil, nil, retryTargets},
		"all is well":            {[]Target{agent}, nil, 30 * time.Second},
		"there is a mere remark": {[]Target{agent}, []gpu.Notice{{Severity: gpu.Info, Text: "hint"}}, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				h := NewHub(Config{Targets: func(context.Context) ([]Target, []gpu.Notice, error) {
					asked.Add(1)
					return tc.targets, tc.notices, nil
				}})
				defer h.Close()
				look := func() int32 {
					_, err := h.Nodes(t.Context())
					require.NoError(t, err)
					synctest.Wait()
					return asked.Load()
				}
				require.EqualValues(t, 1, look())
				time.Sleep(tc.after - time.Millisecond)
				require.EqualValues(t, 1, look())
				time.Sleep(2 * time.Millisecond)
				require.EqualValues(t, 2, look())
			})
		})
	}
}

// A Prometheus that hangs is named as what it is, in words of ours.
func TestWindowSaysThatAgentsAreLookedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHub(Config{Targets: func(ctx context.Context) ([]Target, []gpu.Notice, error) {
			<-ctx.Done()
			return nil, nil, ctx.Err()
		}})
		defer h.Close()
		got := h.Window(t.Context(), Select{Metric: "gpu_power_watts", Wait: time.Second})
		require.Len(t, got.Notices, 1)
		require.Equal(t, "Agents are still being looked for, because not every Prometheus has answered yet; live values follow when they have.", got.Notices[0].Text)
	})
}
