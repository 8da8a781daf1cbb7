package export

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// Handler answers scrapes with the exporter's text and with the figures in own, which are the agent's about itself. It
// answers in the text format 0.0.4 whatever is asked for, which every server accepts.
func Handler(e *Exporter, own prometheus.Gatherer) http.Handler {
	buffers := sync.Pool{New: func() any { return new([]byte) }}
	writers := sync.Pool{New: func() any { return gzip.NewWriter(nil) }}
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		buffer := buffers.Get().(*[]byte)
		defer buffers.Put(buffer)
		*buffer = e.Append((*buffer)[:0], time.Now())
		tail, err := ownFigures(own, format)
		if err != nil {
			http.Error(w, fmt.Sprintf("gather the agent's own figures: %v", err), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", string(format))
		if !acceptsGzip(r) {
			// A scraper that went away gets no message: there is nobody to tell.
			_, _ = w.Write(*buffer)
			_, _ = w.Write(tail)
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := writers.Get().(*gzip.Writer)
		defer writers.Put(z)
		z.Reset(w)
		_, _ = z.Write(*buffer)
		_, _ = z.Write(tail)
		_ = z.Close()
	})
}

func ownFigures(own prometheus.Gatherer, format expfmt.Format) ([]byte, error) {
	families, err := own.Gather()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	encoder := expfmt.NewEncoder(&text, format)
	for _, f := range families {
		if err := encoder.Encode(f); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

func acceptsGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if name == "gzip" {
			return strings.ReplaceAll(quality, " ", "") != "q=0"
		}
	}
	return false
}
