package otlp

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/warpwatch/warpwatch/node-agent/internal/workload"
)

// metricsData has the same fields as the request of the OTLP service, whose own package brings gRPC along.
type metricsData = metrics.MetricsData

// maxDepth is how deeply messages may nest; attributes' values are the only ones without an end.
const maxDepth = 32

// decode reads a request's body. Every size is bounded before it takes memory.
func (r *Receiver) decode(w http.ResponseWriter, req *http.Request, a answerer) (*metricsData, error) {
	text, err := r.body(w, req)
	if err != nil {
		return nil, err
	}
	data := &metricsData{}
	if a.json {
		if n := bytes.Count(text, []byte("{")); n > r.o.Messages {
			return nil, tooManyMessages(r.o.Messages)
		}
		err = protojson.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: maxDepth}.Unmarshal(text, data)
	} else {
		if n := r.o.Messages; !fits(text, data.ProtoReflect().Descriptor(), &n, maxDepth) {
			return nil, tooManyMessages(r.o.Messages)
		}
		err = proto.UnmarshalOptions{DiscardUnknown: true, RecursionLimit: maxDepth}.Unmarshal(text, data)
	}
	if err != nil {
		return nil, &failure{http.StatusBadRequest, codeInvalid, workload.Syntax, 0, fmt.Sprintf(
			"the body is not an OTLP metrics request in %s: %v", a.contentType(), err)}
	}
	return data, nil
}

func (r *Receiver) body(w http.ResponseWriter, req *http.Request) ([]byte, error) {
	var in io.Reader = http.MaxBytesReader(w, req.Body, r.o.BodyBytes)
	switch encoding := req.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, r.readError(err)
		}
		in = z
	default:
		return nil, &failure{http.StatusUnsupportedMediaType, codeInvalid, workload.Unsupported, 0,
			"the body may be compressed with gzip only, or not at all"}
	}
	text, err := io.ReadAll(io.LimitReader(in, r.o.TextBytes+1))
	if err != nil {
		return nil, r.readError(err)
	}
	if int64(len(text)) > r.o.TextBytes {
		return nil, tooLarge(r.o.TextBytes)
	}
	return text, nil
}

func (r *Receiver) readError(err error) error {
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return tooLarge(r.o.BodyBytes)
	}
	return &failure{http.StatusBadRequest, codeInvalid, workload.Syntax, 0, fmt.Sprintf("read the body: %v", err)}
}

func tooLarge(limit int64) error {
	return &failure{http.StatusRequestEntityTooLarge, codeInvalid, workload.TooLarge, 0, fmt.Sprintf(
		"the request is larger than %d bytes: send fewer metrics at a time", limit)}
}

func tooManyMessages(limit int) error {
	return &failure{http.StatusRequestEntityTooLarge, codeInvalid, workload.TooLarge, 0, fmt.Sprintf(
		"the request has more than %d points and attributes: send fewer metrics at a time", limit)}
}

// fits counts the messages in text down from left. An empty message is two bytes here and a hundred in memory.
func fits(text []byte, is protoreflect.MessageDescriptor, left *int, depth int) bool {
	if depth == 0 {
		return true // the decoder says what is wrong
	}
	for len(text) > 0 {
		number, kind, n := protowire.ConsumeTag(text)
		if n < 0 {
			return true
		}
		text = text[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, text); n < 0 {
				return true
			}
			text = text[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(text)
		if n < 0 {
			return true
		}
		text = text[n:]
		field := is.Fields().ByNumber(number)
		if field == nil || field.Message() == nil {
			continue
		}
		if *left--; *left < 0 || !fits(value, field.Message(), left, depth-1) {
			return false
		}
	}
	return true
}
