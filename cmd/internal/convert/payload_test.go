// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/foxglove/mcap/go/mcap"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"tagbus/cmd/internal/record"
	"tagbus/internal/payload"
)

// decoded is what programs that plot read of a message.
type decoded struct {
	topic, schema, encoding string
	fields                  map[string]any // of one that is described
	data                    []byte
}

// decode reads an MCAP file with the official library, and messages by their schema alone.
func (b *bed) decode(name string) (all []decoded, metadata map[string]string) {
	b.Helper()
	r, err := mcap.NewReader(bytes.NewReader(b.file(name)))
	must(b, err)
	defer r.Close()
	it, err := r.Messages(mcap.InOrder(mcap.FileOrder))
	must(b, err)
	metadata = make(map[string]string)
	for {
		schema, channel, m, err := it.NextInto(nil)
		if errors.Is(err, io.EOF) {
			return all, metadata
		}
		must(b, err)
		if schema == nil {
			b.Fatalf("topic %s has no schema", channel.Topic)
		}
		for k, v := range channel.Metadata {
			metadata[k] = v
		}
		d := decoded{topic: channel.Topic, schema: schema.Name, encoding: channel.MessageEncoding + "/" + schema.Encoding, data: bytes.Clone(m.Data)}
		if channel.MessageEncoding == "protobuf" {
			d.fields = make(map[string]any)
			var files descriptorpb.FileDescriptorSet
			must(b, proto.Unmarshal(schema.Data, &files))
			file, err := protodesc.NewFile(files.GetFile()[0], nil)
			must(b, err)
			descriptor := file.Messages().ByName("Crate")
			message := dynamicpb.NewMessage(descriptor)
			must(b, proto.Unmarshal(m.Data, message))
			for i := range descriptor.Fields().Len() {
				f := descriptor.Fields().Get(i)
				d.fields[string(f.Name())] = message.Get(f).Interface()
			}
		}
		all = append(all, d)
	}
}

const crates = `{"payloads":[{"name":"Crate","tags":"1-9","fields":[
	{"name":"event","type":"u64"},{"name":"temperature","type":"i16","scale":0.5,"unit":"degC"},{"name":"samples","type":"u16","count":"rest"}]}]}`

// TestFieldsOfPayloadsInMCAP: what is described has fields, what is too short is there as it
// is, and counted.
func TestFieldsOfPayloadsInMCAP(t *testing.T) {
	b := newBed(t)
	whole := binary.LittleEndian.AppendUint64(nil, 1<<63+1)
	whole = append(whole, 0xfe, 0xff, 7, 0, 8, 0)
	headed, err := record.AppendHeader(nil, record.Info{LinkType: 1, Time: start, Length: uint32(len(whole))}, len(whole))
	must(t, err)
	headed = append(headed, whole...)
	b.record("run.tbr", 256, msg(1, alice, 1, 1, 3, string(whole)), msg(2, alice, 1, 2, 0, string(whole[:9])),
		msg(3, alice, 1, 3, 0, string(headed)), msg(4, alice, 20, 1, 0, "other"), msg(5, alice, 2, 1, 0, ""))
	must(t, os.WriteFile(b.path("p.json"), []byte(crates), 0o600))
	r := b.run("run.tbr", "--to", "mcap", "--out", "run.mcap", "--payloads", b.path("p.json"))
	const note = "2 messages as they are, on topics that end in /raw: the payload is shorter than its description: field "
	if r.status != 0 || strings.Count(r.said, "on topics that end in /raw") != 2 || !strings.Contains(r.said, "field temperature of Crate ends at byte 10 of 9") {
		t.Errorf("got status %d and %s, want %s", r.status, r.said, note)
	}
	all, metadata := b.decode("run.mcap")
	if len(all) != 5 || metadata["unit.temperature"] != "degC" {
		t.Fatalf("got %d messages and %v, want 5 and the unit", len(all), metadata)
	}
	const tag1, tag2 = "0x0000000000000001", "0x0000000000000002"
	for i, want := range []decoded{
		{topic: tag1, schema: "tagbus.Crate", encoding: "protobuf/protobuf"},
		{topic: tag1 + "/raw", schema: "tagbus.Message", encoding: "tagbus/tagbus"},
		{topic: tag1, schema: "tagbus.Crate", encoding: "protobuf/protobuf"},
		{topic: "0x0000000000000014", schema: "tagbus.Message", encoding: "tagbus/tagbus"},
		{topic: tag2 + "/raw", schema: "tagbus.Message", encoding: "tagbus/tagbus"},
	} {
		if got := all[i]; got.topic != want.topic || got.schema != want.schema || got.encoding != want.encoding {
			t.Errorf("message %d: got %s, %s, %s, want %s, %s, %s", i, got.topic, got.schema, got.encoding, want.topic, want.schema, want.encoding)
		}
	}
	f := all[0].fields
	if f["event"] != uint64(1<<63+1) || f["temperature"] != float64(-1) || f["tagbus_counter"] != uint64(1) || f["tagbus_status"] != uint32(3) ||
		f["tagbus_tag"] != uint64(1) || !bytes.Equal(f["tagbus_data"].([]byte), whole) {
		t.Errorf("got %v", f)
	}
	if got := all[2].fields; got["event"] != uint64(1<<63+1) || !bytes.Equal(got["tagbus_data"].([]byte), headed) {
		t.Errorf("with a record header: got %v, want the fields behind it, and all bytes", got)
	}
	if raw := all[1].data; !bytes.Equal(raw[20:], whole[:9]) {
		t.Errorf("got %x of the short one, want all its bytes", raw)
	}
}

func TestDescriptionsThatConvertRefuses(t *testing.T) {
	b := newBed(t)
	b.record("run.tbr", 256, all()...)
	must(t, os.WriteFile(b.path("p.json"), []byte(`{"payloads":[{"name":"P"}]}`), 0o600))
	r := b.run("run.tbr", "--to", "mcap", "--out", "run.mcap", "--payloads", b.path("p.json"))
	if r.status != 2 || !errors.Is(r.err, payload.ErrInvalid) || !strings.Contains(r.err.Error(), `p.json:1:14: payload "P": no tags`) {
		t.Errorf("got status %d and %v", r.status, r.err)
	}
	if r := b.run("run.tbr", "--to", "csv", "--out", "run.csv", "--payloads", b.path("p.json")); r.status != 2 {
		t.Errorf("got status %d for CSV, want 2", r.status)
	}
	if _, err := os.Stat(b.path("run.mcap")); err == nil {
		t.Error("got a file")
	}
}
