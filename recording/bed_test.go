// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

var (
	start = time.Unix(1_700_000_000, 123_456_789)
	alice = &bus.Peer{Instance: "AAAAAAAAAAAAAAAAAAAAAA", Name: "alice", Host: "host1", PID: 11, Addr: netip.MustParseAddrPort("10.0.0.1:4001")}
	bob   = &bus.Peer{Instance: "BBBBBBBBBBBBBBBBBBBBBB", Name: "bob", Host: "host2", PID: 12, Addr: netip.MustParseAddrPort("[fe80::1%eth0]:4002")}
)

// record is a record in a form that can be compared with ==.
type record struct {
	ns      int64
	tag     tags.Tag
	status  bus.Status
	counter uint64
	request string
	data    string
	peer    bus.Peer

	kind   recording.EventKind // 0: a message
	tags   string
	cause  recording.Cause
	failed bool
	text   string
}

// of returns a record in that form.
func of(r recording.Record) record {
	if e := r.Event; e != nil {
		return record{
			ns: e.Time.UnixNano(), tag: e.Tag, counter: e.Count, peer: peerOf(e.Peer),
			kind: e.Kind, tags: e.Tags.String(), cause: e.Cause, failed: e.Failed, text: e.Text,
		}
	}
	return record{
		ns: r.Time.UnixNano(), tag: r.Tag, status: r.Status, counter: r.Counter,
		request: r.RequestID().String(), data: string(r.Data), peer: peerOf(r.Publisher),
	}
}

func peerOf(p *bus.Peer) bus.Peer {
	if p == nil {
		return bus.Peer{}
	}
	return *p
}

// message returns a message at start and some microseconds.
func message(us int, p *bus.Peer, tag tags.Tag, counter uint64, data string) recording.Record {
	return recording.Record{Message: recording.Message{
		Time:    start.Add(time.Duration(us) * time.Microsecond),
		Message: bus.Message{Tag: tag, Counter: counter, Publisher: p, Data: []byte(data)},
	}}
}

// event returns an event at start and some microseconds.
func event(us int, e recording.Event) recording.Record {
	e.Time = start.Add(time.Duration(us) * time.Microsecond)
	return recording.Record{Event: &e}
}

// write appends records.
func write(tb testing.TB, w *recording.Writer, records ...recording.Record) {
	tb.Helper()
	for _, r := range records {
		if r.Event != nil {
			must(tb, w.AppendEvent(*r.Event))
		} else {
			must(tb, w.Append(r.Time, &r.Message.Message))
		}
	}
}

// file returns the bytes of a closed recording of records.
func file(tb testing.TB, h recording.Header, cfg recording.Config, records ...recording.Record) []byte {
	tb.Helper()
	var b bytes.Buffer
	w, err := recording.NewWriter(&b, h, cfg)
	must(tb, err)
	write(tb, w, records...)
	must(tb, w.Close())
	return b.Bytes()
}

// open opens a recording in memory.
func open(tb testing.TB, b []byte) *recording.Reader {
	tb.Helper()
	r, err := recording.NewReader(bytes.NewReader(b), int64(len(b)), recording.ReaderConfig{Name: "test"})
	must(tb, err)
	return r
}

// read returns all records that a query selects, and the errors between them.
func read(rs recording.Readers, q recording.Query) (all []record, errs []error) {
	for r, err := range rs.Records(q) {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, of(r))
	}
	return all, errs
}

// readAll returns all records, of which each must be readable.
func readAll(tb testing.TB, rs ...*recording.Reader) []record {
	tb.Helper()
	all, errs := read(rs, recording.Query{})
	for _, err := range errs {
		tb.Error(err)
	}
	return all
}

// forms returns records in the form that can be compared.
func forms(records ...recording.Record) (all []record) {
	for _, r := range records {
		all = append(all, of(r))
	}
	return all
}

// numbered returns n messages of some tags of alice and bob, and of different sizes.
func numbered(n int) (all []recording.Record) {
	counters := make(map[string]uint64)
	for i := range n {
		p, tag := alice, tags.Tag(1+i%3)
		if i%5 == 0 {
			p = bob
		}
		key := fmt.Sprint(p.Name, tag)
		counters[key]++
		all = append(all, message(10*i, p, tag, counters[key], fmt.Sprintf("message %d %s", i, bytes.Repeat([]byte("x"), i*7%90))))
	}
	return all
}
