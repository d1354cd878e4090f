// SPDX-License-Identifier: Apache-2.0

package kafka

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/kafkaserver"
	"tagbus/tags"
)

// examples are records of an index.
func examples() (all [][]byte) {
	topic := [16]byte{1, 2, 3}
	all = append(all,
		marshalPlace(topic, place{partition: 2, offset: 300, millis: 1_790_000_000_000, data: []byte("data")}),
		marshalPlace(topic, place{offset: 0, millis: -1, data: []byte{}}),
		marshalPlace(topic, place{partition: maxPartitions - 1, offset: 1<<partitionShift - 2}))
	for _, s := range []state{
		{topic: topic, session: [8]byte{9}, since: 1, writer: "a bridge on a host", id: "tagbus-bridge.x", next: []int64{0, 7, 1 << 40}},
		{},
	} {
		all = append(all, marshalState(&s))
	}
	return all
}

// TestTheIndexIsAsItsDescriptionSays byte by byte.
func TestTheIndexIsAsItsDescriptionSays(t *testing.T) {
	topic := [16]byte{0: 0xaa, 15: 0xbb}
	id := "aa0000000000000000000000000000bb"
	for _, test := range []struct{ got, want string }{
		{fmt.Sprintf("%x", appendKey(nil, durable.Key{Tag: 0x1000, Instance: "AB"})), "0000000000001000" + "4142"},
		{fmt.Sprintf("%x", appendPlaceKey(nil, durable.Key{Tag: 0x1000, Instance: "AB"})), "01" + "0000000000001000" + "4142"},
		{fmt.Sprintf("%x", marshalPlace(topic, place{partition: 1, offset: 300, millis: 64})), "01" + id + "01" + "ac02" + "8001" + "00"},
		{fmt.Sprintf("%x", marshalPlace(topic, place{offset: 1, data: []byte("x")})), "01" + id + "00" + "01" + "00" + "01" + "78"},
		{fmt.Sprintf("%x", marshalState(&state{topic: topic, session: [8]byte{7: 1}, since: 1, writer: "w", id: "i", next: []int64{300}})), "01" + id + "0000000000000001" + "02" + "0177" + "0169" + "01" + "ac02"},
	} {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
}

// TestPosition is unique in a topic, and grows in a partition.
func TestPosition(t *testing.T) {
	for _, p := range []int32{0, 1, maxPartitions - 1} {
		for _, offset := range []int64{0, 1, 1<<partitionShift - 2} {
			if gotP, got := placeOf(position(p, offset)); gotP != p || got != offset {
				t.Errorf("got %d and %d of %d and %d", gotP, got, p, offset)
			}
		}
	}
	if got := position(0, 0); got != 1 {
		t.Errorf("got %d for the first record, want 1", got)
	}
}

// TestParse_noCutRecordIsRead of an index.
func TestParse_noCutRecordIsRead(t *testing.T) {
	for i, b := range examples() {
		for n := range len(b) {
			_, _, err := parsePlace(b[:n])
			if i > 2 {
				_, err = parseState(b[:n])
			}
			if err == nil && i != 0 { // the data of a place goes up to the end
				t.Errorf("example %d: got no error for %d of %d bytes", i, n, len(b))
			}
		}
		later := slices.Clone(b)
		later[0]++
		if _, _, err := parsePlace(later); !errors.Is(err, errIndexVersion) {
			t.Errorf("got %v for a later version", err)
		}
	}
}

// FuzzParseIndex reads records of an index: what is read can be written, and is the same then.
func FuzzParseIndex(f *testing.F) {
	for _, b := range examples() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if topic, p, err := parsePlace(b); err == nil {
			again, q, err := parsePlace(marshalPlace(topic, p))
			if err != nil || again != topic || q.partition != p.partition || q.offset != p.offset || q.millis != p.millis || !bytes.Equal(p.data, q.data) || (p.data == nil) != (q.data == nil) {
				t.Fatalf("got %+v, %v, want %+v", q, err, p)
			}
		}
		if s, err := parseState(b); err == nil {
			again, err := parseState(marshalState(&s))
			if err != nil || fmt.Sprint(again) != fmt.Sprint(s) {
				t.Fatalf("got %+v, %v, want %+v", again, err, s)
			}
		}
		if key, ok := parseKey(b); ok && !bytes.Equal(appendKey(nil, key), b) {
			t.Fatalf("got another key for %x", b)
		}
	})
}

// TestIndex_aStartReadsTheIndexAndLittleMore also after a kill, and goes on with a flush that was under way.
func TestIndex_aStartReadsTheIndexAndLittleMore(t *testing.T) {
	brokers := kafkaserver.Brokers(t)
	client := kafkaserver.Client(t, brokers)
	cfg := Config{Brokers: brokers, Topic: kafkaserver.Topics(t, client, 1), CheckpointBytes: 100_000}
	log := openLog(t, cfg)
	const keys = 50
	last := make([]durable.Position, keys)
	large := strings.Repeat("x", inlineBytes+1)
	for round := range 10 {
		for i := range keys {
			data := "small"
			if i%2 == 0 {
				data = large
			}
			last[i] = append1(t, log, i, last[i], fmt.Sprint(round, data))
		}
	}
	_ = log.Close()
	second := openLog(t, cfg)
	if err := second.places.update(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := second.places.last.next[0]; got < int64(last[keys-1])/2 {
		t.Errorf("the index ends at %d of %d, want most of it", got, last[keys-1])
	}
	n := 0
	for e, err := range second.Tails(t.Context(), tags.Everything()) {
		if n++; err != nil || e.Position != last[int(e.Key.Tag)] || !strings.HasPrefix(string(e.Data), "9") {
			t.Errorf("got %d, %.9q as the last of %v, %v, want %d", e.Position, e.Data, e.Key.Tag, err, last[int(e.Key.Tag)])
		}
	}
	if n != keys {
		t.Errorf("got %d keys, want %d", n, keys)
	}
	for i := range keys {
		append1(t, second, i, last[i], "again")
	}
}

func openLog(t *testing.T, cfg Config) *Log {
	t.Helper()
	log, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log.(*Log)
}

// append1 appends a record with a number as its tag.
func append1(t *testing.T, log *Log, tag int, after durable.Position, text string) durable.Position {
	t.Helper()
	type result struct {
		at  durable.Position
		err error
	}
	done := make(chan result, 1)
	log.Append(durable.Append{
		Key: durable.Key{Tag: tags.Tag(tag), Instance: "ALICE"}, After: after, ID: text, Data: []byte(text),
		Done: func(at durable.Position, err error) { done <- result{at, err} },
	})
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.at
}

// TestWriter_anAbortedTransactionIsNotThere although its records are in the partition.
func TestWriter_anAbortedTransactionIsNotThere(t *testing.T) {
	brokers := kafkaserver.Brokers(t)
	client := kafkaserver.Client(t, brokers)
	cfg := Config{Brokers: brokers, Topic: kafkaserver.Topics(t, client, 1)}
	log := openLog(t, cfg)
	at := append1(t, log, 1, 0, "1")
	other := kafkaserver.Client(t, brokers, kgo.TransactionalID("another"), kgo.TransactionTimeout(time.Minute))
	if err := other.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	aborted := &kgo.Record{Topic: cfg.Topic, Key: appendKey(nil, durable.Key{Tag: 1, Instance: "ALICE"}), Value: []byte("aborted")}
	if err := other.ProduceSync(t.Context(), aborted).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if err := other.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	at = append1(t, log, 1, at, "2")
	_ = log.Close()
	second := openLog(t, cfg)
	if e, err := second.Last(t.Context(), durable.Key{Tag: 1, Instance: "ALICE"}); err != nil || e.Position != at {
		t.Errorf("got %d %q, %v, want %d", e.Position, e.Data, err, at)
	}
	var all []string
	for e, err := range second.Read(t.Context(), durable.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(e.Data))
	}
	if fmt.Sprint(all) != "[1 2]" {
		t.Errorf("got %q, want the two that were committed", all)
	}
}
