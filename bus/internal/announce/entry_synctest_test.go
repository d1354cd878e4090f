// SPDX-License-Identifier: Apache-2.0

package announce_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/internal/advertise"
	"tagbus/bus/internal/announce"
	"tagbus/tags"
)

var errAway = errors.New("the storage is away")

// board is a directory with one entry, that may fail.
type board struct {
	directory.Directory

	mu      sync.Mutex
	fails   error
	entries []directory.Entry // as they were asked for
	problem func(error)
	hang    chan struct{} // not nil: Withdraw waits until it is closed
}

func (b *board) ask(e directory.Entry) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entries = append(b.entries, e)
	return b.fails
}

func (b *board) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fails = err
}

// last returns the entry that was asked for last, and how many were.
func (b *board) last() (directory.Entry, int) {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.entries[len(b.entries)-1], len(b.entries)
}

// Announce implements directory.Directory.
func (b *board) Announce(e directory.Entry) (directory.Registration, error) {
	return pinned{b}, b.ask(e)
}

type pinned struct{ *board }

// Update implements directory.Registration.
func (p pinned) Update(e directory.Entry) error { return p.ask(e) }

// Withdraw implements directory.Registration.
func (p pinned) Withdraw() error {
	if p.hang != nil {
		<-p.hang
	}
	return p.fails
}

// OnProblem implements directory.Reporter.
func (p pinned) OnProblem(report func(error)) { p.problem = report }

// changingHost is a host whose addresses change.
type changingHost struct {
	changed chan struct{}
	all     []netip.Addr
	more    []netip.Addr // that others had better not dial
	watched int
}

func (h *changingHost) Addresses() ([]netip.Addr, error) { return h.all, nil }

func (h *changingHost) All() ([]netip.Addr, error) { return slices.Concat(h.all, h.more), nil }

func (h *changingHost) Watch() (<-chan struct{}, func()) {
	h.watched++
	return h.changed, func() { h.watched-- }
}

func (h *changingHost) become(all ...string) {
	h.all = nil
	for _, a := range all {
		h.all = append(h.all, netip.MustParseAddr(a))
	}
	h.changed <- struct{}{}
	synctest.Wait()
}

// instance is one whose entry is tested.
type instance struct {
	announce.Entry
	board   *board
	host    *changingHost
	trouble announce.Trouble
	told    []string
}

func start(t *testing.T, l advertise.Listener, addresses ...string) *instance {
	t.Helper()
	x := &instance{board: new(board), host: &changingHost{changed: make(chan struct{})}}
	for _, a := range addresses {
		x.host.all = append(x.host.all, netip.MustParseAddr(a))
	}
	err := x.Start(x.board, announce.Instance{
		Reach: advertise.Reach{Listeners: []advertise.Listener{l}}, Host: x.host, Trouble: &x.trouble,
		Tell: func(n announce.News) { x.told = append(x.told, fmt.Sprintf("%T%v", n, n)) },
	}, directory.Entry{Instance: "a", Backend: "tcp", PageBytes: 1024, MaxMessageBytes: 1024, Tags: tags.Of(1), Since: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// stop ends it.
func (x *instance) stop(t *testing.T) {
	t.Helper()
	x.Withdraw()
	if err := x.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	synctest.Wait()
	if x.host.watched != 0 {
		t.Errorf("got %d watches after the end", x.host.watched)
	}
}

func (x *instance) wantTold(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	if !slices.Equal(x.told, want) {
		t.Errorf("told %q, want %q", x.told, want)
	}
}

var (
	fixed     = advertise.Listener{Listen: netip.MustParseAddrPort("10.9.0.1:7000")}
	following = advertise.Listener{Listen: netip.MustParseAddrPort("0.0.0.0:7000")}
)

// TestEntry_tagsThatCannotBeAnnounced are announced later if there are fewer, and never if
// there are more.
func TestEntry_tagsThatCannotBeAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, fixed, "10.9.0.1")
		defer x.stop(t)
		began, _ := x.board.last()
		time.Sleep(time.Minute)
		x.board.fail(errAway)
		if err := x.Extend(tags.Of(1, 2)); !errors.Is(err, errAway) {
			t.Errorf("Extend: got %v, want %v", err, errAway)
		}
		e, n := x.board.last()
		if n != 3 || !e.Tags.Equal(tags.Of(1)) || !e.Since.Equal(began.Since) {
			t.Errorf("after Extend has failed: got tags %v since %v by change %d; want 1, as before, by change 3", e.Tags, e.Since, n)
		}
		if err := x.Reduce(tags.Set{}); !errors.Is(err, errAway) {
			t.Errorf("Reduce: got %v, want %v", err, errAway)
		}
		if e, n = x.board.last(); n != 4 || !e.Tags.IsEmpty() {
			t.Errorf("after Reduce has failed: got tags %v by change %d; want none by change 4", e.Tags, n)
		}
		x.board.fail(nil)
		if err := x.Extend(tags.Of(3)); err != nil {
			t.Error(err)
		}
		if e, _ = x.board.last(); !e.Tags.Equal(tags.Of(3)) || e.Since.Sub(began.Since) != time.Minute {
			t.Errorf("got tags %v, new after %v; want 3, after a minute", e.Tags, e.Since.Sub(began.Since))
		}
	})
}

// TestEntry_theHostMoves: the entry follows, again and again until the directory takes it.
func TestEntry_theHostMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, following, "10.9.0.1")
		defer x.stop(t)
		x.board.fail(errAway)
		x.host.become("10.9.0.2")
		if at := x.Place().Addresses; at[0] != netip.MustParseAddrPort("10.9.0.1:7000") {
			t.Errorf("got %v, want what the directory has", at)
		}
		x.wantTold(t)
		x.board.fail(nil)
		time.Sleep(11 * time.Second)
		x.wantTold(t, "announce.Moved{[10.9.0.2:7000]}")
		if e, n := x.board.last(); n != 3 || e.Addresses[0] != x.Place().Addresses[0] || !e.Tags.Equal(tags.Of(1)) {
			t.Errorf("got %v with tags %v by change %d, want 10.9.0.2:7000 with tag 1 by change 3", e.Addresses, e.Tags, n)
		}
	})
}

// TestEntry_anAnnouncedAddressLeaves: it is told once, and when it is back; that of another host is
// not.
func TestEntry_anAnnouncedAddressLeaves(t *testing.T) {
	for name, l := range map[string]advertise.Listener{
		"Listen":    fixed,
		"Advertise": {Listen: following.Listen, Advertise: []netip.AddrPort{fixed.Listen, netip.MustParseAddrPort("192.0.2.1:7000")}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := start(t, l, "10.9.0.1")
				defer x.stop(t)
				x.host.become("10.9.0.1", "127.0.0.1")
				x.host.become("10.9.0.77", "127.0.0.1")
				x.host.become("127.0.0.1")
				time.Sleep(time.Minute)
				x.host.become("10.9.0.1", "127.0.0.1")
				x.wantTold(t, "announce.Gone{10.9.0.1:7000 false 0s}", "announce.Gone{10.9.0.1:7000 true 1m0s}")
			})
		})
	}
}

// TestEntry_anAnnouncedAddressIsNotTheBestAnyMore: it was said to have left the host.
func TestEntry_anAnnouncedAddressIsNotTheBestAnyMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, fixed, "10.9.0.1")
		defer x.stop(t)
		x.host.more = []netip.Addr{netip.MustParseAddr("10.9.0.1")}
		x.host.become("10.9.0.77")
		x.wantTold(t)
		x.host.more = nil
		x.host.become("10.9.0.77")
		x.wantTold(t, "announce.Gone{10.9.0.1:7000 false 0s}")
	})
}

// TestEntry_whatIsWrongWithIt is told, and noted until the end.
func TestEntry_whatIsWrongWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, fixed)
		x.board.problem(errAway)
		if !x.trouble.Failing() || x.trouble.Crowded() {
			t.Errorf("got failing %v and crowded %v", x.trouble.Failing(), x.trouble.Crowded())
		}
		time.Sleep(time.Second)
		x.board.problem(nil)
		if x.trouble.Failing() {
			t.Error("it is failing after the problem is over")
		}
		x.board.problem(directory.ErrCrowded)
		if x.trouble.Failing() || !x.trouble.Crowded() {
			t.Errorf("among too many: got failing %v and crowded %v", x.trouble.Failing(), x.trouble.Crowded())
		}
		x.wantTold(t, "announce.Failing{the storage is away false false 0s}", "announce.Failing{the storage is away false true 1s}",
			fmt.Sprintf("announce.Failing{%v false false 0s}", directory.ErrCrowded))
		x.stop(t)
		if x.trouble.Crowded() {
			t.Error("it is crowded after it is withdrawn")
		}
	})
}

// TestTrouble_ReportCrowded tells of no other problem.
func TestTrouble_ReportCrowded(t *testing.T) {
	b := new(board)
	var trouble announce.Trouble
	told := 0
	r := pinned{b}
	trouble.ReportCrowded(r, func(announce.News) { told++ })
	for _, err := range []error{errAway, nil, directory.ErrCrowded, errAway} {
		b.problem(err)
	}
	if told != 2 || trouble.Failing() || trouble.Crowded() {
		t.Errorf("told %d times, failing %v, crowded %v; want 2 times and nothing wrong", told, trouble.Failing(), trouble.Crowded())
	}
}

// TestEntry_Wait ends with its context, and returns the error of the directory once.
func TestEntry_Wait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := start(t, fixed)
		x.board.hang = make(chan struct{})
		x.board.fail(errAway)
		x.Withdraw()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := x.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
		for _, change := range []func(tags.Set) error{x.Extend, x.Reduce} {
			if err := change(tags.Of(1)); !errors.Is(err, directory.ErrWithdrawn) {
				t.Errorf("a change meanwhile: got %v, want %v", err, directory.ErrWithdrawn)
			}
		}
		close(x.board.hang)
		if err := x.Wait(t.Context()); !errors.Is(err, errAway) {
			t.Errorf("got %v, want %v", err, errAway)
		}
		if err := x.Wait(t.Context()); err != nil {
			t.Errorf("got %v again", err)
		}
	})
}

// TestEntry_thatIsInNoDirectory can be ended.
func TestEntry_thatIsInNoDirectory(t *testing.T) {
	var e announce.Entry
	e.Withdraw()
	if err := e.Wait(t.Context()); err != nil || e.Place() != nil {
		t.Errorf("got %v and the place %v", err, e.Place())
	}
}
