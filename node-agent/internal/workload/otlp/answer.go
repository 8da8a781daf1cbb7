package otlp

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/warpwatch/warpwatch/node-agent/internal/workload"
)

// Codes of google.rpc.Status.
const (
	codeInvalid     = 3
	codeExhausted   = 8
	codeUnavailable = 14
)

// failure is why a request was refused whole.
type failure struct {
	http   int
	code   int
	reason workload.Reason
	after  time.Duration // when to send it again; zero is never
	text   string
}

func (f *failure) Error() string { return f.text }

// answerer answers in the encoding of the request.
type answerer struct{ json bool }

func answererFor(req *http.Request) (answerer, error) {
	media, _, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	switch {
	case err == nil && media == "application/x-protobuf":
		return answerer{}, nil
	case err == nil && media == "application/json":
		return answerer{json: true}, nil
	}
	return answerer{json: true}, &failure{http.StatusUnsupportedMediaType, codeInvalid, workload.Unsupported, 0, fmt.Sprintf(
		"the content type is %q: send application/x-protobuf or application/json", req.Header.Get("Content-Type"))}
}

func (a answerer) contentType() string {
	if a.json {
		return "application/json"
	}
	return "application/x-protobuf"
}

// success writes an ExportMetricsServiceResponse.
func (a answerer) success(w http.ResponseWriter, rejected int64, message string) {
	partial := rejected > 0 || message != ""
	if a.json {
		type partialSuccess struct {
			Rejected int64  `json:"rejectedDataPoints,string,omitempty"`
			Message  string `json:"errorMessage,omitempty"`
		}
		var body struct {
			Partial *partialSuccess `json:"partialSuccess,omitempty"`
		}
		if partial {
			body.Partial = &partialSuccess{rejected, message}
		}
		a.writeJSON(w, http.StatusOK, body)
		return
	}
	var body []byte
	if partial {
		var p []byte
		p = protowire.AppendVarint(protowire.AppendTag(p, 1, protowire.VarintType), uint64(rejected))
		p = protowire.AppendString(protowire.AppendTag(p, 2, protowire.BytesType), message)
		body = protowire.AppendBytes(protowire.AppendTag(body, 1, protowire.BytesType), p)
	}
	a.write(w, http.StatusOK, body)
}

// status writes a google.rpc.Status.
func (a answerer) status(w http.ResponseWriter, f *failure) {
	if f.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.after.Seconds())))
	}
	if a.json {
		a.writeJSON(w, f.http, struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		}{f.code, f.text})
		return
	}
	var body []byte
	body = protowire.AppendVarint(protowire.AppendTag(body, 1, protowire.VarintType), uint64(f.code))
	body = protowire.AppendString(protowire.AppendTag(body, 2, protowire.BytesType), f.text)
	a.write(w, f.http, body)
}

func (a answerer) writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	a.write(w, status, text)
}

func (a answerer) write(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", a.contentType())
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	// A sender that went away gets no answer: there is nobody to tell.
	_, _ = w.Write(body)
}
