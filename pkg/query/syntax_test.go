package query

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSyntaxErrorsPointAtTheUsersText(t *testing.T) {
	for expr, want := range map[string]string{
		"sum(rate(x[$__rate_interval])":    `field "expr": column 30: unclosed left parenthesis`,
		"x{node=gpu}":                      `field "expr": column 8, at "gpu": unexpected identifier "gpu" in label matching, expected string; values stand in double quotes, as in {node="gpu-01"}`,
		"$__interval_ms + x[$__range] + )": `field "expr": column 32, at ")": unexpected right parenthesis ')'`,
		"a +\n\n  x{node==\"é\"} +":        "",
		"é":                                `field "expr": column 1, at "é": unexpected character: 'é'`,
		"x & 0x40":                         `field "expr": column 3, at "& 0x40": unexpected character: '&'; PromQL has no operators for bits; to test this one write floor(x / 64) % 2 == 1`,
		"x & 3":                            `field "expr": column 3, at "& 3": unexpected character: '&'; PromQL has no operators for bits; to test the bit of value n write floor(x / n) % 2 == 1`,
		"a && b":                           `field "expr": column 3, at "&& b": unexpected character: '&'; write and`,
		"a || b":                           `field "expr": column 3, at "|| b": unexpected character: '|'; write or`,
		"rat(x[5m])":                       `field "expr": column 1, at "rat": unknown function with name "rat"; did you mean rate()?`,
		"max_ovr_time(x[5m])":              `field "expr": column 1, at "max_ovr_time": unknown function with name "max_ovr_time"; did you mean max_over_time()?`,
		"completely_unknown(x)":            `field "expr": column 1, at "completely_unknown": unknown function with name "completely_unknown"`,
		"rate(x{$__gpu_filter})":           `field "expr": column 6, at "x{$__gpu_filter}": expected type range vector in call to function "rate", got instant vector; give it a range, as in rate(x[$__rate_interval])`,
		"x $__gpu_filter":                  `field "expr": column 3, at "$__gpu_filter": unexpected identifier "node"; it stands for label matchers and belongs between braces, as in DCGM_FI_DEV_GPU_UTIL{$__gpu_filter}`,
		`x{a="b" $__gpu_filter}`:           `field "expr": column 9, at "$__gpu_filter": unexpected identifier "node" in label matching, expected "," or "}"; put a comma between it and the other matchers`,
		"x + $__gpu_identity":              `field "expr": column 5, at "$__gpu_identity": unexpected ","; it stands for label names and belongs behind by, as in max by ($__gpu_identity) (x)`,
		"rate(x[$interval])":               `field "expr": column 8, at "$interval])": unexpected character in duration expression: '$'; no dashboard variable of this name was found`,
		`x{a=“b”}`:                         "",
		`x{a="\/b"}`:                       "",
		`x{a=>"b"}`:                        "",
		`x{a!"b"}`:                         "",
		`x = 1`:                            `field "expr": column 3, at "=": unexpected "="; values are compared with ==`,
		`1 == 1`:                           `field "expr": column 3, at "=": comparisons between scalars must use BOOL modifier; write bool behind the comparison`,
		`x[5m] > 1`:                        `field "expr": column 1, at "x[5m]": binary expression must contain only scalar and instant vector types; put the range into a function, as in rate(x[$__rate_interval])`,
		`{}`:                               `field "expr": column 1, at "{}": vector selector must contain at least one non-empty matcher; name the metric`,
		`# nothing`:                        "",
		`sum(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa[5m])`: `field "expr": column 5, at "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…": expected type instant vector in aggregation expression, got range vector`,
	} {
		p, err := prepare(t, Query{Expr: expr})
		require.NoError(t, err, expr)
		if want == "" {
			t.Logf("%s\n%v", expr, p.Err)
			require.Error(t, p.Err)
			continue
		}
		assert.EqualError(t, p.Err, want)
	}
	p, err := prepare(t, Query{Expr: "a +\n\n  é"})
	require.NoError(t, err)
	var found *SyntaxError
	require.True(t, errors.As(p.Err, &found))
	require.Equal(t, []any{3, 3, "é"}, []any{found.Line, found.Column, found.At})
}

func TestOrigin(t *testing.T) {
	e, err := macros(t, Scope{Nodes: []string{"n"}}).expand("a[$__range_ms] é{$__gpu_filter} z")
	require.NoError(t, err)
	require.Equal(t, `a[3600000] é{node=~"n"} z`, e.text)
	for _, tc := range []struct{ start, end, from, to int }{
		{0, 1, 0, 1}, {2, 9, 2, 13}, {3, 4, 2, 13}, {9, 10, 13, 14}, {14, 18, 18, 31}, {23, 24, 31, 32}, {25, 26, 33, 34}, {-5, 100, 0, 34}, {9, 3, 13, 13},
	} {
		from, to := e.origin(tc.start, tc.end)
		require.Equal(t, []int{tc.from, tc.to}, []int{from, to}, "%+v %q", tc, e.text)
	}
}

func TestTheFilterKnowsItsSelector(t *testing.T) {
	m := macros(t, Scope{GPUs: []string{"GPU-1"}})
	for expr, want := range map[string]string{
		`DCGM_X{a="}",b="{",$__gpu_filter}`:                    `DCGM_X{a="}",b="{",UUID=~"GPU-1|",uuid=~"GPU-1|",gpu_uuid=~"GPU-1|"}`,
		`{$__gpu_filter,__name__=~"DCGM_.*"} + gpu_x`:          `{UUID=~"GPU-1|",uuid=~"GPU-1|",gpu_uuid=~"GPU-1|",__name__=~"DCGM_.*"} + gpu_x`,
		"gpu_x{a=`\\`,$__gpu_filter} # DCGM_X{":                "gpu_x{a=`\\`,gpu_uuid=~\"GPU-1\"} # DCGM_X{",
		"# DCGM_X{\ngpu_x{'a'=\"\\\"\",$__gpu_filter}":         "# DCGM_X{\ngpu_x{'a'=\"\\\"\",gpu_uuid=~\"GPU-1\"}",
		`DCGM_X{a="b"} / gpu_x{$__gpu_filter} / DCGM_Y{a="b"}`: `DCGM_X{a="b"} / gpu_x{gpu_uuid=~"GPU-1"} / DCGM_Y{a="b"}`,
	} {
		got, err := m.Expand(expr)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}
