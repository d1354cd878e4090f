// SPDX-License-Identifier: Apache-2.0

// Package directorytest checks that a directory keeps the contract of package
// directory. Tests of a directory call Run.
package directorytest

import (
	"errors"
	"net/netip"
	"sync"
	"testing"

	"tagbus/bus/directory"
	"tagbus/tags"
)

// Run holds a kind of directory to the contract.
//
//   - open: opens one that is empty, for one test. What is announced or withdrawn must
//     reach watchers within some seconds. Run closes it.
func Run(t *testing.T, open func(t *testing.T) directory.Opened) {
	t.Helper()
	tests := []struct {
		name string
		run  func(*testing.T, directory.Opened)
	}{
		{"a watcher is told what is there, in order, then what changes", testWatch},
		{"an update to the same entry is no event", testSameUpdate},
		{"an entry keeps its role and its mirror", testRole},
		{"two watchers are told the same", testTwoWatchers},
		{"a withdrawn registration is gone for good", testWithdraw},
		{"invalid entries are refused and change nothing", testInvalid},
		{"an instance is announced once", testAnnouncedTwice},
		{"the announcer keeps its slices", testCopies},
		{"stop waits for notify and ends it", testStop},
		{"stop and withdraw may be called from within notify", testInsideNotify},
		{"close from within notify returns", testCloseInsideNotify},
		{"a closed directory refuses everything", testClosed},
		{"many publishers at once are all found", testMany},
		{"clients are in a directory of their own", testClients},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d := open(t)
			t.Cleanup(func() {
				if err := d.Close(); err != nil {
					t.Errorf("got %v from Close, want nil", err)
				}
			})
			test.run(t, d)
		})
	}
}

// Announce announces e, and fails the test if that does.
func Announce(t *testing.T, d directory.Directory, e directory.Entry) directory.Registration {
	t.Helper()
	r, err := d.Announce(e)
	if err != nil {
		t.Fatalf("got %v from Announce, want nil", err)
	}
	return r
}

// Watch returns what records the events of d, and what stops it.
func Watch(t *testing.T, d directory.Directory) (*Recorder, func()) {
	t.Helper()
	r := NewRecorder(t)
	stop, err := d.Watch(r.Notify)
	if err != nil {
		t.Fatalf("got %v from Watch, want nil", err)
	}
	return r, stop
}

func testWatch(t *testing.T, d directory.Opened) {
	t.Helper()
	b, a := Announce(t, d, Entry("b", 2)), Announce(t, d, Entry("a", 1))
	r, stop := Watch(t, d)
	defer stop()
	if e := r.Want(directory.Appeared, "a"); !e.Entry.Equal(Entry("a", 1)) {
		t.Errorf("got entry %+v, want the announced one", e.Entry)
	}
	r.Want(directory.Appeared, "b")
	Announce(t, d, Entry("c", 3))
	r.Want(directory.Appeared, "c")
	if err := a.Update(Entry("a", 1, 4)); err != nil {
		t.Fatalf("got %v from Update, want nil", err)
	}
	if e := r.Want(directory.Changed, "a"); !e.Entry.Equal(Entry("a", 1, 4)) {
		t.Errorf("got entry %+v, want the updated one", e.Entry)
	}
	if err := b.Withdraw(); err != nil {
		t.Fatalf("got %v from Withdraw, want nil", err)
	}
	if e := r.Want(directory.Gone, "b"); e.Err != nil || !e.Entry.Equal(Entry("b", 2)) {
		t.Errorf("got %+v, want the last entry and no error", e)
	}
	entries, err := d.List()
	if err != nil || len(entries) != 2 || !entries[0].Equal(Entry("a", 1, 4)) || !entries[1].Equal(Entry("c", 3)) {
		t.Errorf("got list %v, %v, want a and c", entries, err)
	}
}

func testSameUpdate(t *testing.T, d directory.Opened) {
	t.Helper()
	r, stop := Watch(t, d)
	defer stop()
	a := Announce(t, d, Entry("a", 1))
	r.Want(directory.Appeared, "a")
	if err := a.Update(Entry("a", 1)); err != nil {
		t.Fatalf("got %v from Update, want nil", err)
	}
	Announce(t, d, Entry("b", 1))
	r.Want(directory.Appeared, "b")
}

func testRole(t *testing.T, d directory.Opened) {
	t.Helper()
	e := Entry("a", 1)
	e.Role, e.Mirror = directory.Receiver, "m1"
	e.Ways = []directory.Way{{Backend: "shm", Addresses: e.Addresses[:1]}, {Backend: "rdma:verbs", Addresses: e.Addresses}}
	Announce(t, d, e)
	r, stop := Watch(t, d)
	defer stop()
	if got := r.Want(directory.Appeared, "a").Entry; !got.Equal(e) {
		t.Errorf("got %+v, want %+v", got, e)
	}
}

func testTwoWatchers(t *testing.T, d directory.Opened) {
	t.Helper()
	first, stop := Watch(t, d)
	defer stop()
	a := Announce(t, d, Entry("a", 1))
	first.Want(directory.Appeared, "a")
	second, stopSecond := Watch(t, d)
	second.Want(directory.Appeared, "a")
	stopSecond()
	if err := a.Withdraw(); err != nil {
		t.Fatal(err)
	}
	first.Want(directory.Gone, "a")
	second.WantNone()
}

func testWithdraw(t *testing.T, d directory.Opened) {
	t.Helper()
	a := Announce(t, d, Entry("a", 1))
	for range 2 {
		if err := a.Withdraw(); err != nil {
			t.Fatalf("got %v from Withdraw, want nil", err)
		}
	}
	if err := a.Update(Entry("a", 2)); !errors.Is(err, directory.ErrWithdrawn) {
		t.Errorf("got %v from Update, want ErrWithdrawn", err)
	}
	if entries, err := d.List(); err != nil || len(entries) != 0 {
		t.Errorf("got list %v, %v, want an empty one", entries, err)
	}
	again := Announce(t, d, Entry("a", 3))
	if err := a.Withdraw(); err != nil {
		t.Fatalf("got %v from a late Withdraw, want nil", err)
	}
	if entries, err := d.List(); err != nil || len(entries) != 1 {
		t.Errorf("got list %v, %v, want the entry that was announced again", entries, err)
	}
	if err := again.Withdraw(); err != nil {
		t.Fatalf("got %v from Withdraw, want nil", err)
	}
}

func testInvalid(t *testing.T, d directory.Opened) {
	t.Helper()
	bad := Entry("../a", 1)
	if _, err := d.Announce(bad); !errors.Is(err, directory.ErrInvalidEntry) {
		t.Errorf("got %v from Announce, want ErrInvalidEntry", err)
	}
	a := Announce(t, d, Entry("a", 1))
	bad = Entry("a", 1)
	bad.Addresses = nil
	if err := a.Update(bad); !errors.Is(err, directory.ErrInvalidEntry) {
		t.Errorf("got %v from Update, want ErrInvalidEntry", err)
	}
	if err := a.Update(Entry("b", 1)); !errors.Is(err, directory.ErrInvalidEntry) {
		t.Errorf("got %v from Update to another instance, want ErrInvalidEntry", err)
	}
	if entries, err := d.List(); err != nil || len(entries) != 1 || !entries[0].Equal(Entry("a", 1)) {
		t.Errorf("got list %v, %v, want the valid entry", entries, err)
	}
}

func testAnnouncedTwice(t *testing.T, d directory.Opened) {
	t.Helper()
	Announce(t, d, Entry("a", 1))
	if _, err := d.Announce(Entry("a", 2)); !errors.Is(err, directory.ErrAnnounced) {
		t.Errorf("got %v, want ErrAnnounced", err)
	}
}

func testCopies(t *testing.T, d directory.Opened) {
	t.Helper()
	e := Entry("a", 1)
	Announce(t, d, e)
	e.Addresses[0] = netip.MustParseAddrPort("10.9.9.9:9")
	entries, err := d.List()
	if err != nil || len(entries) != 1 || !entries[0].Equal(Entry("a", 1)) {
		t.Fatalf("got list %v, %v, want the entry as it was announced", entries, err)
	}
	entries[0].Addresses[0] = netip.MustParseAddrPort("10.9.9.9:9")
	if entries, err := d.List(); err != nil || !entries[0].Equal(Entry("a", 1)) {
		t.Errorf("got list %v, %v, want the entry as it was announced", entries, err)
	}
}

func testMany(t *testing.T, d directory.Opened) {
	t.Helper()
	const publishers = 40
	r, stop := Watch(t, d)
	defer stop()
	var announcing sync.WaitGroup
	defer announcing.Wait()
	for i := range publishers {
		announcing.Go(func() {
			if _, err := d.Announce(Entry("p"+string(rune('A'+i%26))+string(rune('a'+i/26)), tags.Tag(i))); err != nil {
				t.Errorf("got %v from Announce, want nil", err)
			}
		})
	}
	seen := map[string]bool{}
	for len(seen) < publishers {
		e := r.Next()
		if e.Kind != directory.Appeared || seen[e.Entry.Instance] {
			t.Fatalf("got event %v, want each publisher to appear once", e)
		}
		seen[e.Entry.Instance] = true
	}
}
