package history

import "testing"

// Whatever is answered, columns hold what series do, and what is no answer is no answer in the same words.
func FuzzInstant(f *testing.F) {
	for _, result := range []string{
		`[]`, `null`, `[1,"2"]`, `[{"metric":{"a":"b"},"value":[1,"2"]},{"metric":{"a":"c"},"value":[1,"NaN"]}]`,
		`[{"metric":{"a":"b"},"value":[1,"2"]},{"metric":{"a":"c"},"histogram":[1,{}]},{"value":[2,"2"],"metric":{"a":"\u00e4"}}]`,
		`[{"metric":{"a":"b"},"values":[[1,"2"]]}]`, `[{"metric":{"a":"b"},"value":[1,"2"]},{"metric":{"a`,
	} {
		f.Add([]byte(`{"status":"success","data":{"resultType":"vector","result":` + result + `}}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) { sameRows(t, string(body)) })
}
