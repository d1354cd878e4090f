// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"tagbus/bus/directory"
	"tagbus/bus/directory/codec"
	"tagbus/bus/directory/directorytest"
)

// FuzzShelf gives a shelf changes in any order, with deletions, damaged values, foreign
// keys, looks that miss some of them, and time that passes. What the Feed has is what the
// shelf has, whatever comes.
func FuzzShelf(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7})
	f.Add([]byte{0, 8, 16, 1, 9, 7, 15, 6, 5, 0, 8})
	f.Add([]byte{0, 1, 7, 0, 2, 7, 5, 6, 3, 0, 4, 5})
	f.Fuzz(func(t *testing.T, steps []byte) {
		d, err := Open(Config{Endpoints: []string{"127.0.0.1:1"}, Prefix: "/tagbus/test/"})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		s := &d.look.shelf
		now := time.Now()
		for i, step := range steps[:min(len(steps), 200)] {
			instance := string(rune('a' + step>>3))
			if !directory.ValidInstance(instance) {
				instance = "x"
			}
			now = now.Add(time.Duration(step) * 10 * time.Millisecond)
			shelfStep(t, s, step&7, instance, int64(i+1), now)
			checkShelf(t, s)
		}
	})
}

// shelfStep does one of eight things to a shelf.
func shelfStep(t *testing.T, s *shelf, what byte, instance string, revision int64, now time.Time) {
	t.Helper()
	value, err := codec.Append(nil, directorytest.Entry(instance, 1))
	if err != nil {
		t.Fatal(err)
	}
	kv := &mvccpb.KeyValue{Key: []byte(s.d.keyOf(instance)), Value: value, ModRevision: revision, Version: 1}
	deleted := &mvccpb.Event{Type: mvccpb.Event_DELETE, Kv: &mvccpb.KeyValue{Key: kv.Key, ModRevision: revision}}
	switch what {
	case 0:
		s.apply([]*mvccpb.Event{{Kv: kv}})
	case 1:
		s.apply([]*mvccpb.Event{deleted})
	case 2:
		note := &mvccpb.Event{Kv: &mvccpb.KeyValue{Key: []byte(s.d.noteKey()), ModRevision: revision, Version: 1}}
		s.apply([]*mvccpb.Event{deleted, note})
		if s.items[instance] != nil {
			t.Errorf("got %s after it was withdrawn, want it gone", instance)
		}
	case 3:
		kv.Value = value[:len(value)/2]
		s.apply([]*mvccpb.Event{{Kv: kv}})
	case 4:
		kv.Key = append(kv.Key, '/')
		s.apply([]*mvccpb.Event{{Kv: kv}, {Type: mvccpb.Event_DELETE, Kv: &mvccpb.KeyValue{Key: kv.Key, ModRevision: revision}}})
	case 5: // a look that finds this one alone
		for _, i := range s.items {
			i.seen = false
		}
		seen := make(map[string]bool)
		s.putPage([]*mvccpb.KeyValue{kv}, "epoch", seen)
		s.finish(revision, "epoch", seen)
	case 6:
		s.expire(now)
	default:
		s.forgive(now)
	}
}

// checkShelf compares a shelf with the Feed.
func checkShelf(t *testing.T, s *shelf) {
	t.Helper()
	entries, _ := s.d.feed.List()
	if len(entries) != len(s.items) {
		t.Fatalf("got %d entries in the feed, want %d", len(entries), len(s.items))
	}
	for _, e := range entries {
		if s.items[e.Instance] == nil {
			t.Fatalf("got %s in the feed, want it on the shelf too", e.Instance)
		}
	}
	waiting := 0
	for _, i := range s.items {
		if i.patience != 0 {
			waiting++
		}
	}
	if waiting != s.waiting {
		t.Fatalf("got %d that wait, want %d", s.waiting, waiting)
	}
	if _, problems := s.d.feed.Sizes(); problems != len(s.bad) {
		t.Fatalf("got %d problems, want %d", problems, len(s.bad))
	}
}
