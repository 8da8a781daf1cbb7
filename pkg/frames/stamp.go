package frames

import (
	"encoding/json"
	"fmt"
	"hash/fnv"

	"github.com/grafana/grafana-plugin-sdk-go/data"
)

// StampPrefix begins the name of the last column of what streams send, see Stamped.
const StampPrefix = "told-"

// Stamped is a frame with one more column, which has no values and whose name is made from the frame's meta. Grafana's buffer in
// the browser hands on a schema only where the name, the type or the number of columns changed, and else the values alone: this
// way what meta says changes with the packet that says it. The frame itself stays as it is.
func Stamped(frame *data.Frame) (*data.Frame, error) {
	meta, err := json.Marshal(frame.Meta)
	if err != nil {
		return nil, fmt.Errorf("encode the meta of %s: %w", frame.Name, err)
	}
	hash := fnv.New32a()
	hash.Write(meta)
	out := *frame
	stamp := data.NewField(fmt.Sprintf("%s%08x", StampPrefix, hash.Sum32()), nil, make([]*bool, frame.Rows()))
	out.Fields = append(frame.Fields[:len(frame.Fields):len(frame.Fields)], stamp)
	return &out, nil
}
