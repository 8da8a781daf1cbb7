package history

import (
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

func TestPurity(t *testing.T) {
	p := parser.NewParser(parser.Options{EnableExperimentalFunctions: true, EnableBinopFillModifiers: true})
	for expr, want := range map[string]purity{
		`up`:                                   {pure: true},
		`rate(x[5m])`:                          {pure: true},
		`sum by (a) (rate(x[5m])) / 2`:         {pure: true},
		`topk(3, x)`:                           {pure: true},
		`limit_ratio(0.5, x)`:                  {pure: true},
		`time() - timestamp(x)`:                {pure: true},
		`max_over_time(rate(x[1m])[30m:15s])`:  {pure: true},
		`max_over_time(x[1h:])`:                {pure: true},
		`x offset 5m`:                          {pure: true},
		`x offset -5m`:                         {pure: true, ahead: 300_000},
		`y + max_over_time(x[10m] offset -2m)`: {pure: true, ahead: 120_000},
		`max_over_time((x offset -5m)[1h:1m] offset 2m)`:  {pure: true, ahead: 180_000},
		`max_over_time((x offset -5m)[1h:1m] offset -2m)`: {pure: true, ahead: 420_000},
		`x @ 1700000000`:           {pure: true, pin: 1700000000_000},
		`x @ 1700000000 offset 1m`: {pure: true, pin: 1699999940_000},
		`max_over_time((x offset -1m)[1h:1m] @ 1700000000)`: {pure: true, pin: 1700000060_000},
		`step() * x`:       {pure: true},
		`absent(x{a="b"})`: {pure: true},
		`histogram_quantile(0.9, rate(x_bucket[5m]))`: {pure: true},
		`x @ start()`:                     {},
		`x @ end()`:                       {},
		`rate(x[5m] @ end())`:             {},
		`x - x @ start()`:                 {},
		`max_over_time(x[1h:1m] @ end())`: {},
		`max_over_time(rate(x[1m] @ start())[1h:1m])`: {},
		`topk(5, sum(x @ end()))`:                     {},
		`limitk(3, x)`:                                {},
		`start()`:                                     {},
		`x * (end() - start())`:                       {},
		`range()`:                                     {},
		`rate(x[5m] smoothed)`:                        {},
		`range_avg(x) default 0`:                      {}, // MetricsQL
		`"@ end()" == `:                               {},
		``:                                            {},
	} {
		got := purityOf(p, expr)
		if want.pure != got.pure || want.pure && got != want {
			t.Errorf("%s: %+v, want %+v", expr, got, want)
		}
	}
	// A string is no modifier.
	if !purityOf(p, `x{a="@ end()"} @ 5`).pure {
		t.Error("a label's value was taken for a modifier")
	}
}

func TestWhatIsNotPureIsAskedAsAWhole(t *testing.T) {
	p := purityOf(parser.NewParser(parser.Options{}), `x offset -5m`)
	if settled, ok := p.settled(1_000_000); !ok || settled != 700_000 {
		t.Errorf("%d %v", settled, ok)
	}
	p = purityOf(parser.NewParser(parser.Options{}), `x @ 2000`)
	if _, ok := p.settled(1_000_000); ok {
		t.Error("samples of the future are taken as settled")
	}
	if _, ok := p.settled(3_000_000); !ok {
		t.Error("samples of long ago are not settled")
	}
}
