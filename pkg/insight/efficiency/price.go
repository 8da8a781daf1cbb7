package efficiency

import (
	"fmt"
	"slices"
	"strconv"
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

// mostUnpriced is how many models without a price are named.
const mostUnpriced = 8

// unpricedText names the models that have no price, the most used first, and the setting; "" when all have one.
func (r *Result) unpricedText() string {
	if len(r.Unpriced) == 0 {
		return ""
	}
	several := slices.ContainsFunc(r.Unpriced, func(u Unpriced) bool { return u.Cluster != r.Unpriced[0].Cluster })
	var names []string
	for _, u := range r.Unpriced[:min(len(r.Unpriced), mostUnpriced)] {
		name := u.Model
		if name == "" {
			name = "GPUs whose model is not known"
		}
		if several && u.Cluster != "" {
			name += " in " + u.Cluster
		}
		names = append(names, fmt.Sprintf("%s (%s GPU hours)", name, strconv.FormatFloat(u.Hours, 'f', 1, 64)))
	}
	if more := len(r.Unpriced) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return "Unpriced, and in no amount of money: " + strings.Join(names, ", ") + ". Set their prices in the data source's settings, insight.prices."
}
