package efficiency

import (
	"slices"
	"strings"

	"github.com/warpwatch/warpwatch/pkg/gpu"
)

// money is what an hour of a GPU costs.
type money struct {
	currency string
	perHour  float64
}

// words are those of a model's name, without the vendor's.
func words(model string) []string { return strings.Fields(strings.ToUpper(gpu.ShortModel(model))) }

// price is what an hour of a model costs in a cluster; false where the table does not say. A price for the cluster goes
// before one for all of them, then the one that names more of the model's words.
func (t Tariff) price(model, cluster string) (money, bool) {
	named := words(model)
	best, rank := -1, -1
	for i, p := range t.Prices {
		if p.Cluster != "" && p.Cluster != cluster {
			continue
		}
		wanted := words(p.Model)
		if slices.ContainsFunc(wanted, func(w string) bool { return !slices.Contains(named, w) }) {
			continue
		}
		r := len(wanted)
		if p.Cluster != "" {
			r += 1 << 16
		}
		if r > rank {
			best, rank = i, r
		}
	}
	if best < 0 {
		return money{}, false
	}
	currency := t.Prices[best].Currency
	if currency == "" {
		currency = t.Currency
	}
	return money{currency, t.Prices[best].PerGPUHour}, true
}
