package history

import (
	"context"
	"maps"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/query"
)

// macros are what a query in PromQL may be written with. Where nodes are selected by, they know of exporters that name theirs
// in no label.
func (h *History) macros(ctx context.Context, endpoints []*endpoint, q query.Query, w query.Window) query.Macros {
	m := query.Macros{Window: w, Scope: q.Scope, Catalog: h.catalog}
	if len(q.Scope.Nodes) > 0 && (q.InjectScope || strings.Contains(q.Expr, "__gpu_filter")) {
		m.Addressed = h.addressed(ctx, endpoints)
	}
	return m
}

// addressed are the dialects of which a server has series whose node is the scraped address. A server that cannot say is
// left out: what it is asked next fails too.
func (h *History) addressed(ctx context.Context, endpoints []*endpoint) map[catalog.Dialect]bool {
	all := map[catalog.Dialect]bool{}
	for _, o := range fanOutSoon(ctx, endpoints, h.inventory) {
		if o.err == nil {
			maps.Copy(all, o.value.addressed)
		}
	}
	return all
}
