// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"tagbus/bus/directory/codec"
	"tagbus/bus/directory/directorytest"
	"tagbus/tags"
)

// shelfOf returns the shelf of a directory without servers.
func shelfOf(t *testing.T) *shelf {
	t.Helper()
	d, err := Open(Config{Endpoints: []string{"127.0.0.1:1"}, Prefix: "/tagbus/test/"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return &d.look.shelf
}

// valueOf returns the key and the value of an entry.
func valueOf(t *testing.T, s *shelf, instance string, served tags.Set, revision int64) *mvccpb.KeyValue {
	t.Helper()
	e := directorytest.Entry(instance)
	e.Tags = served
	value, err := codec.Append(nil, e)
	if err != nil {
		t.Fatal(err)
	}
	return &mvccpb.KeyValue{Key: []byte(s.d.keyOf(instance)), Value: value, ModRevision: revision, Version: 1}
}

// Strangers fill the directory with keys that are no entries: what is kept of them is bounded, in
// number and in length, and that there are more is told.
func TestDirectory_rubbishCostsLittle(t *testing.T) {
	s := shelfOf(t)
	const keys, length = 2_000, 100_000
	seen := make(map[string]bool)
	for i := range keys {
		s.putPage([]*mvccpb.KeyValue{
			{Key: fmt.Appendf(nil, "/tagbus/test/e/%d%s", i, strings.Repeat("/x", length/2)), Version: 1},
			{Key: fmt.Appendf(nil, "/tagbus/test/e/i%d", i), Value: []byte("\xff\xff"), Version: 1},
		}, "", seen)
	}
	bytes := 0
	for _, kept := range []map[string]bool{s.bad, seen} {
		if len(kept) > maxBad {
			t.Errorf("got %d keys, want at most %d", len(kept), maxBad)
		}
		for key := range kept {
			bytes += len(key)
		}
	}
	if most := 2 * maxBad * (nameBytes + 64); bytes > most {
		t.Errorf("got %d bytes of keys, want at most %d", bytes, most)
	}
	if _, err := s.d.feed.List(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "than the 64 that are named") || len(err.Error()) > 200_000 {
		t.Errorf("got %.300v, want that there are more, in few words", err)
	}
	s.finish(1, "", make(map[string]bool)) // they are gone
	if _, err := s.d.feed.List(); err != nil || len(s.bad) > 0 {
		t.Errorf("got %v, want nothing", err)
	}
}

// Entries of a kilobyte say tags of megabytes. Those without room are named, and have it again when
// others go.
func TestDirectory_heavyEntries(t *testing.T) {
	s := shelfOf(t)
	const parts = 100_000
	heavy, err := tags.OfRanges(parts, func(yield func(tags.Tag, tags.Tag) bool) {
		for i := range tags.Tag(parts) {
			if !yield(2*i, 2*i) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	s.heaviest = 4 << 20
	at := int64(0)
	apply := func(instance string, served tags.Set) {
		at++
		s.apply([]*mvccpb.Event{{Kv: valueOf(t, s, instance, served, at)}})
	}
	apply("small", tags.Of(1))
	for i := range 4 {
		apply(fmt.Sprintf("heavy-%d", i), heavy)
	}
	apply("small", tags.Of(1, 3)) // what is there changes as it likes
	if s.weight > s.heaviest || len(s.items) != 3 || !s.full {
		t.Errorf("got %d entries of %d bytes, want 3 of at most %d", len(s.items), s.weight, s.heaviest)
	}
	if _, err := s.d.feed.List(); !errors.Is(err, ErrTooMany) || !strings.Contains(err.Error(), "heavy-3") {
		t.Errorf("got %v, want the entry that has no room", err)
	}
	s.drop("heavy-0", nil)
	s.drop("heavy-1", nil)
	if !s.roomAgain() {
		t.Error("got no room after others went, want some")
	}
	s.drop("small", nil)
	if s.weight != 0 {
		t.Errorf("got a weight of %d without entries, want 0", s.weight)
	}
}

// pieces is a stream of responses.
type pieces struct {
	etcdserverpb.Watch_WatchClient
	all []*etcdserverpb.WatchResponse
}

// Recv returns the next one.
func (p *pieces) Recv() (*etcdserverpb.WatchResponse, error) {
	if len(p.all) == 0 {
		return nil, io.EOF
	}
	r := p.all[0]
	p.all = p.all[1:]
	return r, nil
}

// A response comes in fragments. Each is passed on as far as its revisions are whole, so that never
// more than one revision waits.
func TestDirectory_fragments(t *testing.T) {
	event := func(revision int64, key string) *mvccpb.Event {
		return &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte(key), ModRevision: revision}}
	}
	stream := &pieces{all: []*etcdserverpb.WatchResponse{
		{Fragment: true, Events: []*mvccpb.Event{event(1, "a"), event(2, "b")}},
		{Fragment: true, Events: []*mvccpb.Event{event(2, "c")}},
		{Fragment: true, Events: []*mvccpb.Event{event(2, "d"), event(3, "e"), event(4, "f")}},
		{Events: []*mvccpb.Event{event(4, "g"), event(5, "h")}},
	}}
	w := &watch{stream: stream, responses: make(chan *etcdserverpb.WatchResponse, 8)}
	w.receive(t.Context())
	var got []string
	for r := range w.responses {
		text := ""
		for _, e := range r.Events {
			text += string(e.Kv.Key)
		}
		got = append(got, text)
	}
	if text := strings.Join(got, " "); text != "a bcde fgh" {
		t.Errorf("got %s, want a bcde fgh", text)
	}
}
