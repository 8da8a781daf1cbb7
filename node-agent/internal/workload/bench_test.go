package workload

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkScrape asks for 4,000 series of which none changed, and of which some did.
func BenchmarkScrape(b *testing.B) {
	for _, changed := range []bool{false, true} {
		b.Run(fmt.Sprintf("changed=%t", changed), func(b *testing.B) {
			s, _ := store(Limits{})
			var text strings.Builder
			for i := range 4000 {
				fmt.Fprintf(&text, "train_number_%d{rank=\"%d\",job_id=\"42\"} %d\n", i/100, i%100, i)
			}
			s.Replace("a", families(b, text.String()))
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				s.dirty = s.dirty || changed
				dst = s.Append(dst[:0])
			}
			b.SetBytes(int64(len(dst)))
		})
	}
}
