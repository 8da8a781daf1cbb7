package query

import "testing"

func TestRegexInEquality(t *testing.T) {
	for expr, want := range map[string]string{
		`DCGM_FI_DEV_GPU_UTIL{host="d\\.e\\.f"}`:             `host="d\\.e\\.f"`,
		`sum(x{job="a", host = "(a-b-c|d\\.e\\.f)"})`:        `host = "(a-b-c|d\\.e\\.f)"`,
		`x{"k8s.node.name"!="(a|b)"}`:                        `"k8s.node.name"!="(a|b)"`,
		`x{host=~"d\\.e\\.f"} and y{host!~"(a|b)"}`:          "",
		`x{host="d.e.f"}`:                                    "",
		`x{process_name="C:\\Program Files\\app.exe"} == 1`:  "",
		`x{model="NVIDIA H100 (80 GB)"} or y{job="a|b"}`:     "",
		`label_replace(x{host="a"},"b","$1","c","(.*)\\.d")`: "",
	} {
		if got := RegexInEquality(expr); got != want {
			t.Errorf("%s: got %q, want %q", expr, got, want)
		}
	}
}
