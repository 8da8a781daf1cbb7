package history

import (
	"context"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// Exist reports which of some metrics of devices the servers of a scope may have, by the names of their series: of the others
// there is nothing, and they need not be asked for. What a server cannot say may exist.
func (h *History) Exist(ctx context.Context, scope query.Scope, metrics []catalog.Metric) []bool {
	endpoints, _ := h.inScope(scope)
	exist := make([]bool, len(metrics))
	for _, e := range endpoints {
		words, err := h.words(ctx, e)
		for i, m := range metrics {
			exist[i] = exist[i] || err != nil || len(h.plan(words, m).names) > 0
		}
	}
	return exist
}
