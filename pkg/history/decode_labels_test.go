package history

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Label sets that are like the one before, or nearly, are read as client_golang reads them.
func TestDecodeOfSeriesLikeTheOneBefore(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	names := []string{`a`, `b`, `gpu`, `a\\b`, `\u0061`, `é`, `q\"`, `c`}
	values := []string{``, `x`, `xy`, `0`, `1`, `\"`, `a\\b`, `a\nb`, `é`, `\u00e9`, `NVIDIA H100 80GB HBM3`, `}`, `"`[:0], `,`}
	for range 300 {
		var series []string
		shape := []string{}
		for i := range 40 {
			if i == 0 || random.IntN(6) == 0 {
				shape = shape[:0]
				for _, n := range random.Perm(len(names))[:random.IntN(5)] {
					shape = append(shape, names[n])
				}
			}
			var pairs []string
			for _, name := range shape {
				space := strings.Repeat(" ", max(0, random.IntN(12)-10))
				pairs = append(pairs, fmt.Sprintf(`"%s":%s"%s"`, name, space, values[random.IntN(len(values))]))
			}
			series = append(series, fmt.Sprintf(`{"metric":{%s},"value":[1793400000.5,"%d"]}`, strings.Join(pairs, ","), i))
		}
		body := []byte(`{"status":"success","data":{"resultType":"vector","result":[` + strings.Join(series, ",") + `]}}`)
		if _, ok := oracle(body); !ok {
			t.Fatalf("client_golang does not read %s", body)
		}
		sameAsOracle(t, body, mustDecode(t, body))
	}
}

// Values that are different in each series are right, too, once they are no longer remembered.
func TestDecodeOfManyDifferentValues(t *testing.T) {
	body := instantBody(2 * mostMisses)
	sameAsOracle(t, body, mustDecode(t, body))
}

// What looks like the series before but is no JSON is not read.
func TestDecodeStillRefusesWhatIsNoJSON(t *testing.T) {
	for _, second := range []string{`{"a":"x"`, `{"a":"x",}`, `{"a":"x}`, `{"a":"x" "b":"y"}`, `{"a":"x","b":"y"`, `{"a"b":"x"}`, "{\"a\":\"\x01\"}"} {
		body := `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"x"},"value":[1,"1"]},{"metric":` + second + `,"value":[1,"1"]}]}}`
		if a, err := decode(windowOn([]byte(body)), nil); err == nil {
			t.Errorf("%s was read: %+v", second, a.Series)
		}
	}
}
