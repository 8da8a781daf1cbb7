package query

import (
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/warpwatch/warpwatch/pkg/catalog"
	"github.com/warpwatch/warpwatch/pkg/gpu"
)

func advise(expr parser.Expr, c *catalog.Catalog) []gpu.Notice { return nil }

func parseInteger(string) (int, bool) { return 0, false }
