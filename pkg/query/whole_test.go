package query

import "testing"

func TestWholeNodes(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"queryType":"health"}`:                                                                    true,
		`{"queryType":"health","clusters":["a"],"nodes":["/n.*/"]}`:                                 true,
		`{"queryType":"health","gpus":["GPU-1"]}`:                                                   false,
		`{"queryType":"health","models":["H100"]}`:                                                  false,
		`{"queryType":"health","pods":["p"]}`:                                                       false,
		`{"queryType":"health","adhocFilters":[{"key":"node","operator":"!=","value":"x"}]}`:        true,
		`{"queryType":"health","adhocFilters":[{"key":"mig_profile","operator":"!=","value":"x"}]}`: false,
	} {
		q, err := Parse([]byte(raw), "")
		if err != nil {
			t.Fatal(raw, err)
		}
		if got := q.Scope.WholeNodes(); got != want {
			t.Errorf("%s: %v", raw, got)
		}
	}
}
