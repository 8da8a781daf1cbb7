package wire

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/reflect/protoreflect"
)

var (
	blockLine = regexp.MustCompile(`^\s*(message|enum|oneof) (\w+) \{$`)
	fieldLine = regexp.MustCompile(`^\s*(repeated |optional )?(\w+) (\w+) = (\d+)(?: \[.*\])?;$`)
	valueLine = regexp.MustCompile(`^\s*(\w+) = (\d+);$`)
)

// The generated code must be that of the .proto file beside it: same messages, fields, numbers and types.
func TestGeneratedCodeIsOfTheProtoFile(t *testing.T) {
	source, err := os.ReadFile("agent.proto")
	require.NoError(t, err)
	var written []string
	block := ""
	for _, line := range strings.Split(string(source), "\n") {
		line, _, _ = strings.Cut(line, "//")
		line = strings.TrimRight(line, " ")
		if m := blockLine.FindStringSubmatch(line); m != nil {
			if m[1] != "oneof" {
				block = m[2]
			}
		} else if m := fieldLine.FindStringSubmatch(line); m != nil {
			written = append(written, fmt.Sprintf("%s: %s%s %s = %s", block, m[1], m[2], m[3], m[4]))
		} else if m := valueLine.FindStringSubmatch(line); m != nil {
			written = append(written, fmt.Sprintf("%s: %s = %s", block, m[1], m[2]))
		}
	}
	assert.ElementsMatch(t, written, generated(), "run the generator: agent.pb.go is not of this agent.proto")
}

// generated lists the generated code's fields the way the file writes them.
func generated() []string {
	file := File_pkg_wire_agent_proto
	var all []string
	for i := range file.Messages().Len() {
		message := file.Messages().Get(i)
		for j := range message.Fields().Len() {
			f := message.Fields().Get(j)
			label := ""
			switch {
			case f.IsList():
				label = "repeated "
			case f.HasOptionalKeyword():
				label = "optional "
			}
			all = append(all, fmt.Sprintf("%s: %s%s %s = %d", message.Name(), label, typeName(f), f.Name(), f.Number()))
		}
	}
	for i := range file.Enums().Len() {
		enum := file.Enums().Get(i)
		for j := range enum.Values().Len() {
			v := enum.Values().Get(j)
			all = append(all, fmt.Sprintf("%s: %s = %d", enum.Name(), v.Name(), v.Number()))
		}
	}
	return all
}

func typeName(f protoreflect.FieldDescriptor) string {
	switch f.Kind() {
	case protoreflect.MessageKind:
		return string(f.Message().Name())
	case protoreflect.EnumKind:
		return string(f.Enum().Name())
	}
	return f.Kind().String()
}
