// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"testing"
	"time"

	"github.com/foxglove/mcap/go/mcap"

	"tagbus/bus"
	"tagbus/cmd/internal/convert"
	"tagbus/internal/testkit"
	"tagbus/recording"
	"tagbus/tags"
)

// mcapFile is what the official library reads.
type mcapFile struct {
	messages []entry
	events   []string
	topics   map[string]int // messages by topic
	about    []map[string]string
}

// readMCAP reads a file by its index, or from its beginning to its end.
func (b *bed) readMCAP(name string, byIndex bool) (f mcapFile) {
	b.Helper()
	r, err := mcap.NewReader(bytes.NewReader(b.file(name)))
	must(b, err)
	defer r.Close()
	f.topics = make(map[string]int)
	it, err := r.Messages(mcap.UsingIndex(byIndex), mcap.InOrder(mcap.FileOrder), mcap.WithMetadataCallback(func(m *mcap.Metadata) error {
		f.about = append(f.about, m.Metadata)
		return nil
	}))
	must(b, err)
	for {
		schema, channel, m, err := it.NextInto(nil)
		if errors.Is(err, io.EOF) {
			return f
		}
		must(b, err)
		f.topics[channel.Topic]++
		if channel.MessageEncoding == "json" {
			if schema == nil || schema.Encoding != "jsonschema" || !json.Valid(schema.Data) || !json.Valid(m.Data) {
				b.Errorf("an event: got schema %v and %s, want JSON", schema, m.Data)
			}
			f.events = append(f.events, string(m.Data))
			continue
		}
		f.messages = append(f.messages, b.packet(channel, m))
	}
}

// packet reads a packet as its documentation has it, with nothing of the package.
func (b *bed) packet(c *mcap.Channel, m *mcap.Message) entry {
	b.Helper()
	d := m.Data
	r := entry{
		At:  time.Unix(0, int64(m.LogTime)).UTC().Format(time.RFC3339Nano),
		Tag: tags.Tag(binary.BigEndian.Uint64(d)), Counter: binary.BigEndian.Uint64(d[8:]), Status: bus.Status(d[18]),
		Data: string(d[20:]), Request: bus.RequestID{}.String(),
	}
	if d[19]&1 != 0 {
		r.Request, r.Data = bus.RequestIDOf([16]byte(d[20:])).String(), r.Data[16:]
	}
	if d[16] != 1 || d[17] != 0 || m.Sequence != uint32(r.Counter) || m.PublishTime != m.LogTime {
		b.Errorf("got message %+v, want one of version 1", m)
	}
	if tag, perTag := c.Metadata["tag"]; perTag && tag != r.Tag.String() {
		b.Errorf("got a message of tag %v in the channel of %s", r.Tag, tag)
	}
	var p struct {
		Instance, Name, Host, Address string
		PID                           int
	}
	must(b, json.Unmarshal([]byte(c.Metadata["publisher"]), &p))
	r.Peer = bus.Peer{Instance: p.Instance, Name: p.Name, Host: p.Host, PID: p.PID}
	if p.Address != "" {
		r.Peer.Addr = netip.MustParseAddrPort(p.Address)
	}
	return r
}

func TestMCAPHasEachMessage(t *testing.T) {
	b := newBed(t)
	b.record("run.tbr", 256, all()...)
	for _, codec := range []string{"none", "lz4", "zstd"} {
		out := codec + ".mcap"
		if r := b.run("run.tbr", "--to", "mcap", "--out", out, "--codec", codec); r.status != 0 {
			t.Fatalf("got status %d: %s", r.status, r.said)
		}
		for _, byIndex := range []bool{true, false} {
			f := b.readMCAP(out, byIndex)
			differ(t, messagesOf(ofAll(all())), f.messages)
			differ(t, map[string]int{"0x0000000000000001": 4, "0x0000000000000002": 1, "tagbus/events": 8}, f.topics)
			if len(f.events) != 8 {
				t.Fatalf("got %d events, want 8", len(f.events))
			}
			differ(t, `{"time":"2026-11-24T12:00:00.173456789Z","kind":"gap","publisher":{"instance":"BBBBBBBBBBBBBBBBBBBBBB","name":"b,\"ob","host":"host2","pid":12,"address":"[fe80::1%eth0]:4002"},"tag":"0x0000000000000001","count":7,"cause":"full"}`, f.events[3])
		}
		f := b.readMCAP(out, true)
		differ(t, []map[string]string{{
			"id": "07000000000000000000000000000000", "created": "2026-11-24T12:00:00.123456789Z", "tags": "0x0000000000000001-0x0000000000000003",
			"host": "recorder1", "name": "rec", "version": "v1", "policy": "block",
		}}, f.about)
	}
}

// TestMCAPOfMoreTagsThanChannels: each publisher has a channel then.
func TestMCAPOfMoreTagsThanChannels(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector finds no more in 65,536 of them than in few")
	}
	b := newBed(t)
	records := func(n int) (out []recording.Record) {
		for i := range n {
			out = append(out, msg(i, []*bus.Peer{alice, bob}[i%2], tags.Tag(i), 1, 0, fmt.Sprint(i)))
		}
		return out
	}
	few, many := records(1<<16-1), records(1<<16)
	b.record("few.tbr", 1<<20, few...)
	b.record("many.tbr", 1<<20, many...)
	for name, want := range map[string][]recording.Record{"few": few, "many": many} {
		if r := b.run(name+".tbr", "--to", "mcap", "--out", name+".mcap"); r.status != 0 {
			t.Fatalf("%s: got status %d: %s", name, r.status, r.said)
		}
		f := b.readMCAP(name+".mcap", true)
		differ(t, ofAll(want), f.messages)
		if channels := map[string]int{"few": 1<<16 - 1, "many": 2}[name]; len(f.topics) != channels {
			t.Errorf("%s: got %d topics, want %d", name, len(f.topics), channels)
		}
	}
	// One that is asked for of many has channels for its tags.
	if r := b.run("many.tbr", "--to", "mcap", "--out", "one.mcap", "--publisher", "alice"); r.status != 0 {
		t.Fatalf("got status %d: %s", r.status, r.said)
	}
	if f := b.readMCAP("one.mcap", true); len(f.topics) != 1<<15 {
		t.Errorf("got %d topics, want %d", len(f.topics), 1<<15)
	}
}

func TestMCAPOfMorePublishersThanChannels(t *testing.T) {
	if testkit.Race {
		t.Skip("the race detector finds no more in 65,536 of them than in few")
	}
	b := newBed(t)
	var records []recording.Record
	for i := range 1 << 16 {
		records = append(records, msg(i, &bus.Peer{Instance: fmt.Sprint(i)}, 1, 1, 0, ""))
	}
	b.record("run.tbr", 1<<20, records...)
	r := b.run("run.tbr", "--to", "mcap", "--out", "run.mcap")
	if !errors.Is(r.err, convert.ErrPublishers) || r.status != 1 {
		t.Errorf("got status %d and %v, want 1 and ErrPublishers", r.status, r.err)
	}
}
