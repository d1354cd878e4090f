// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/bus/directory/memory"
	"tagbus/tags"
)

// closer is a directory that the test closes.
type closer interface {
	directory.Directory
	Close() error
}

// backends are held to the contract.
var backends = []struct {
	name string
	open func(*testing.T) (d closer, storage storage)
}{
	{"memory", func(*testing.T) (closer, storage) {
		d := memory.New()
		return d, memoryStorage{d}
	}},
	{"file", func(t *testing.T) (closer, storage) {
		t.Helper()
		return openFile(t, file.Config{Beat: 20 * time.Millisecond, Poll: 20 * time.Millisecond})
	}},
	{"file without notifications", func(t *testing.T) (closer, storage) {
		t.Helper()
		return openFile(t, file.Config{Beat: 20 * time.Millisecond, Poll: 20 * time.Millisecond, PollOnly: true})
	}},
}

func openFile(t *testing.T, config file.Config) (closer, storage) {
	t.Helper()
	folder := t.TempDir()
	d, err := file.Open(folder, config)
	if err != nil {
		t.Fatal(err)
	}
	return d, fileStorage(folder)
}

func TestConformance(t *testing.T) {
	tests := []struct {
		name string
		run  func(*testing.T, closer)
	}{
		{"a watcher is told what is there, in order, then what changes", testWatch},
		{"an update to the same entry is no event", testSameUpdate},
		{"an entry keeps its role", testRole},
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
	}
	for _, backend := range backends {
		t.Run(backend.name, func(t *testing.T) {
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) {
					d, _ := backend.open(t)
					t.Cleanup(func() {
						if err := d.Close(); err != nil {
							t.Errorf("got %v from Close, want nil", err)
						}
					})
					test.run(t, d)
				})
			}
		})
	}
}

func announce(t *testing.T, d directory.Directory, e directory.Entry) directory.Registration {
	t.Helper()
	r, err := d.Announce(e)
	if err != nil {
		t.Fatalf("got %v from Announce, want nil", err)
	}
	return r
}

func watch(t *testing.T, d directory.Directory) (*recorder, func()) {
	t.Helper()
	r := newRecorder(t)
	stop, err := d.Watch(r.notify)
	if err != nil {
		t.Fatalf("got %v from Watch, want nil", err)
	}
	return r, stop
}

func testWatch(t *testing.T, d closer) {
	t.Helper()
	b, a := announce(t, d, entry("b", 2)), announce(t, d, entry("a", 1))
	r, stop := watch(t, d)
	defer stop()
	if e := r.want(directory.Appeared, "a"); !e.Entry.Equal(entry("a", 1)) {
		t.Errorf("got entry %+v, want the announced one", e.Entry)
	}
	r.want(directory.Appeared, "b")
	announce(t, d, entry("c", 3))
	r.want(directory.Appeared, "c")
	if err := a.Update(entry("a", 1, 4)); err != nil {
		t.Fatalf("got %v from Update, want nil", err)
	}
	if e := r.want(directory.Changed, "a"); !e.Entry.Equal(entry("a", 1, 4)) {
		t.Errorf("got entry %+v, want the updated one", e.Entry)
	}
	if err := b.Withdraw(); err != nil {
		t.Fatalf("got %v from Withdraw, want nil", err)
	}
	if e := r.want(directory.Gone, "b"); e.Err != nil || !e.Entry.Equal(entry("b", 2)) {
		t.Errorf("got %+v, want the last entry and no error", e)
	}
	entries, err := d.List()
	if err != nil || len(entries) != 2 || !entries[0].Equal(entry("a", 1, 4)) || !entries[1].Equal(entry("c", 3)) {
		t.Errorf("got list %v, %v, want a and c", entries, err)
	}
}

func testSameUpdate(t *testing.T, d closer) {
	t.Helper()
	r, stop := watch(t, d)
	defer stop()
	a := announce(t, d, entry("a", 1))
	r.want(directory.Appeared, "a")
	if err := a.Update(entry("a", 1)); err != nil {
		t.Fatalf("got %v from Update, want nil", err)
	}
	announce(t, d, entry("b", 1))
	r.want(directory.Appeared, "b")
}

func testRole(t *testing.T, d closer) {
	t.Helper()
	e := entry("a", 1)
	e.Role = directory.Receiver
	announce(t, d, e)
	r, stop := watch(t, d)
	defer stop()
	if got := r.want(directory.Appeared, "a").Entry.Role; got != directory.Receiver {
		t.Errorf("got role %q, want %q", got, directory.Receiver)
	}
}

func testTwoWatchers(t *testing.T, d closer) {
	t.Helper()
	first, stop := watch(t, d)
	defer stop()
	a := announce(t, d, entry("a", 1))
	first.want(directory.Appeared, "a")
	second, stopSecond := watch(t, d)
	second.want(directory.Appeared, "a")
	stopSecond()
	if err := a.Withdraw(); err != nil {
		t.Fatal(err)
	}
	first.want(directory.Gone, "a")
	second.wantNone()
}

func testWithdraw(t *testing.T, d closer) {
	t.Helper()
	a := announce(t, d, entry("a", 1))
	for range 2 {
		if err := a.Withdraw(); err != nil {
			t.Fatalf("got %v from Withdraw, want nil", err)
		}
	}
	if err := a.Update(entry("a", 2)); !errors.Is(err, directory.ErrWithdrawn) {
		t.Errorf("got %v from Update, want ErrWithdrawn", err)
	}
	if entries, err := d.List(); err != nil || len(entries) != 0 {
		t.Errorf("got list %v, %v, want an empty one", entries, err)
	}
	again := announce(t, d, entry("a", 3))
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

func testInvalid(t *testing.T, d closer) {
	t.Helper()
	bad := entry("../a", 1)
	if _, err := d.Announce(bad); !errors.Is(err, directory.ErrInvalidEntry) {
		t.Errorf("got %v from Announce, want ErrInvalidEntry", err)
	}
	a := announce(t, d, entry("a", 1))
	bad = entry("a", 1)
	bad.Addresses = nil
	if err := a.Update(bad); !errors.Is(err, directory.ErrInvalidEntry) {
		t.Errorf("got %v from Update, want ErrInvalidEntry", err)
	}
	if err := a.Update(entry("b", 1)); !errors.Is(err, directory.ErrInvalidEntry) {
		t.Errorf("got %v from Update to another instance, want ErrInvalidEntry", err)
	}
	if entries, err := d.List(); err != nil || len(entries) != 1 || !entries[0].Equal(entry("a", 1)) {
		t.Errorf("got list %v, %v, want the valid entry", entries, err)
	}
}

func testAnnouncedTwice(t *testing.T, d closer) {
	t.Helper()
	announce(t, d, entry("a", 1))
	if _, err := d.Announce(entry("a", 2)); !errors.Is(err, directory.ErrAnnounced) {
		t.Errorf("got %v, want ErrAnnounced", err)
	}
}

func testCopies(t *testing.T, d closer) {
	t.Helper()
	e := entry("a", 1)
	announce(t, d, e)
	e.Addresses[0] = netip.MustParseAddrPort("10.9.9.9:9")
	entries, err := d.List()
	if err != nil || len(entries) != 1 || !entries[0].Equal(entry("a", 1)) {
		t.Fatalf("got list %v, %v, want the entry as it was announced", entries, err)
	}
	entries[0].Addresses[0] = netip.MustParseAddrPort("10.9.9.9:9")
	if entries, err := d.List(); err != nil || !entries[0].Equal(entry("a", 1)) {
		t.Errorf("got list %v, %v, want the entry as it was announced", entries, err)
	}
}

func testMany(t *testing.T, d closer) {
	t.Helper()
	const publishers = 40
	r, stop := watch(t, d)
	defer stop()
	var announcing sync.WaitGroup
	defer announcing.Wait()
	for i := range publishers {
		announcing.Go(func() {
			if _, err := d.Announce(entry("p"+string(rune('A'+i%26))+string(rune('a'+i/26)), tags.Tag(i))); err != nil {
				t.Errorf("got %v from Announce, want nil", err)
			}
		})
	}
	seen := map[string]bool{}
	for len(seen) < publishers {
		e := r.next()
		if e.Kind != directory.Appeared || seen[e.Entry.Instance] {
			t.Fatalf("got event %v, want each publisher to appear once", e)
		}
		seen[e.Entry.Instance] = true
	}
}
