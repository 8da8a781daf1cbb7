package wire

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
)

// first is the contract as it was first published: samples, and nothing beside them.
func first(t *testing.T) protoreflect.FileDescriptor {
	t.Helper()
	file := protodesc.ToFileDescriptorProto(File_pkg_wire_agent_proto)
	added := map[string][]string{
		"Request": {"events", "events_after", "processes", "owners"}, "Message": {"events", "processes", "owners"},
		"Column": {"label", "label_value"},
	}
	file.MessageType = slices.DeleteFunc(file.GetMessageType(), func(m *descriptorpb.DescriptorProto) bool {
		return slices.Contains([]string{"Events", "Event", "Processes", "Process", "Owners", "Ownership", "Owner"}, m.GetName())
	})
	for _, m := range file.GetMessageType() {
		m.Field = slices.DeleteFunc(m.GetField(), func(f *descriptorpb.FieldDescriptorProto) bool {
			return slices.Contains(added[m.GetName()], f.GetName())
		})
	}
	old, err := protodesc.NewFile(file, nil)
	require.NoError(t, err)
	return old
}

// through passes a message through a build of the first contract and back: what that build knows comes out again.
func through(t *testing.T, old protoreflect.FileDescriptor, m, into proto.Message) {
	t.Helper()
	body, err := proto.Marshal(m)
	require.NoError(t, err)
	known := dynamicpb.NewMessage(old.Messages().ByName(m.ProtoReflect().Descriptor().Name()))
	require.NoError(t, proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(body, known))
	body, err = proto.Marshal(known)
	require.NoError(t, err)
	require.NoError(t, proto.Unmarshal(body, into))
}

// A reader of the first contract reads an agent of this one: it misses the rest, and samples mean what they meant.
func TestFirstReadersReadThisAgent(t *testing.T) {
	old := first(t)
	s := schema()
	s.Columns[1].Label, s.Columns[1].LabelValue = "link", "3"
	var got Message
	through(t, old, &Message{Body: &Message_Schema{Schema: s}}, &got)
	s.Columns[1].Label, s.Columns[1].LabelValue = "", ""
	assert.True(t, proto.Equal(s, got.GetSchema()))
	for _, m := range []*Message{
		{Body: &Message_Events{Events: &Events{Events: []*Event{{Seq: 1}}}}}, {Body: &Message_Owners{Owners: &Owners{}}},
		{Body: &Message_Processes{Processes: &Processes{}}},
	} {
		var got Message
		through(t, old, m, &got)
		assert.Nil(t, got.GetBody(), "a message without a body is passed over")
	}
}

// An agent of the first contract understands a reader of this one: it sends samples, and nothing else.
func TestThisReaderAsksFirstAgents(t *testing.T) {
	var got Request
	through(t, first(t), &Request{
		ResumeEpoch: "e", ResumeAfter: 7, BackfillMs: 1000, Reader: "r", Events: true, EventsAfter: 3, Processes: true, Owners: true,
	}, &got)
	assert.True(t, proto.Equal(&Request{ResumeEpoch: "e", ResumeAfter: 7, BackfillMs: 1000, Reader: "r"}, &got))
}

// A body that this build does not know is no body.
func TestBodiesOfTheFuture(t *testing.T) {
	body := protowire.AppendTag(nil, 900, protowire.BytesType)
	body = protowire.AppendBytes(body, []byte("something new"))
	var m Message
	require.NoError(t, proto.Unmarshal(body, &m))
	assert.Nil(t, m.GetBody())
}

// What was published once keeps its number and its type for good.
func TestNumbersAreKept(t *testing.T) {
	for name, fields := range map[protoreflect.Name]map[protoreflect.Name]protoreflect.FieldNumber{
		"Request": {"resume_epoch": 1, "resume_after": 2, "backfill_ms": 3, "reader": 4, "events": 5, "events_after": 6, "processes": 7, "owners": 8},
		"Message": {"schema": 1, "batch": 2, "heartbeat": 3, "events": 4, "processes": 5, "owners": 6},
		"Column":  {"device": 1, "metric": 2, "multiplier": 3, "divisor": 4, "label": 5, "label_value": 6},
		"Tick":    {"seq": 1, "time_unix_ms": 2, "changed": 3, "deltas": 4, "state_changed": 5, "states": 6, "dropped": 7},
		"Event": {
			"seq": 1, "time_unix_ms": 2, "kind": 3, "origin": 4, "uuid": 5, "gpu_instance": 6, "compute_instance": 7, "xid": 8, "detail": 9,
		},
	} {
		m := File_pkg_wire_agent_proto.Messages().ByName(name)
		for field, number := range fields {
			f := m.Fields().ByName(field)
			require.NotNil(t, f, "%s.%s", name, field)
			assert.Equal(t, number, f.Number(), "%s.%s", name, field)
		}
	}
}
