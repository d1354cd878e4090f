// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/bus/observer"
	"tagbus/bus/state"
)

// patience is that of fakeAsker.
const patience = 2 * time.Second

// fakeAsker is a bus whose programs answer after a millisecond, or not at all.
type fakeAsker struct {
	dead      map[string]bool // instances that nothing reaches
	blackHole map[string]bool // instances that large packets do not reach
	quiet     map[string]bool // instances whose large packets do not come

	connected int // to each

	mu      sync.Mutex
	peers   []int // that questions asked for, at most
	running int
	most    int // at a time
	asked   map[string]int
	greeted map[netip.AddrPort]int // running now
}

func (f *fakeAsker) begin() (end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running++
	f.most = max(f.most, f.running)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.running--
	}
}

// wait waits, for as long as an observer does if nothing comes.
func (f *fakeAsker) wait(ctx context.Context, forAnswer bool) error {
	time.Sleep(time.Millisecond)
	if forAnswer {
		return nil
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(patience - time.Millisecond):
		return observer.ErrTimeout
	}
}

func (f *fakeAsker) Greet(ctx context.Context, e directory.Entry, addr netip.AddrPort) (observer.Greeting, error) {
	defer f.begin()()
	f.mu.Lock()
	f.greeted[addr]++
	if f.greeted[addr] > 1 {
		panic("two greetings at one address at a time")
	}
	f.mu.Unlock()
	err := f.wait(ctx, !f.dead[e.Instance])
	f.mu.Lock()
	defer f.mu.Unlock()
	f.greeted[addr]--
	return observer.Greeting{Protocol: observer.ProtocolVersion, Instance: e.Instance, Took: time.Millisecond}, err
}

func (f *fakeAsker) Ask(ctx context.Context, e directory.Entry, q state.Question) (state.State, error) {
	defer f.begin()()
	err := f.wait(ctx, (q.Tags.IsEmpty() || !f.blackHole[e.Instance]) && (q.Peers == 0 || !f.quiet[e.Instance]))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[e.Instance]++
	f.peers = append(f.peers, q.Peers)
	return state.State{
		Time: time.Now(), Connected: f.connected, Peers: make([]state.Peer, min(q.Peers, f.connected)), Instance: e.Instance, Program: "v1.2.0",
		Losses: []state.Loss{{Cause: state.Full, Messages: uint64(f.asked[e.Instance])}},
	}, err
}

// world is a bus in memory, and the looker that looks at it.
func world(entries int) (*looker, *fakeAsker, *file.Survey) {
	f := &fakeAsker{dead: map[string]bool{}, blackHole: map[string]bool{}, quiet: map[string]bool{}, asked: map[string]int{}, greeted: map[netip.AddrPort]int{}}
	survey := &file.Survey{All: true, Names: entries}
	for i := range entries {
		e := entryOf(i%250+1, "").Found
		e.Entry.Instance = fmt.Sprintf("I%04d", i)
		e.Name = e.Entry.Instance + ".jsonl"
		e.Entry.Addresses = []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 7000)}
		e.Written = time.Now()
		survey.Files = append(survey.Files, e)
	}
	l := &looker{
		bus: "/bus", us: us{host: "here", backend: "tcp", program: "v1.2.0", expiry: 5 * time.Second},
		folder: func() folderSeen { return folderSeen{survey: *survey, system: fileSystem{free: 1 << 30}} },
		again: func() (file.Survey, error) { // all have beaten
			later := *survey
			later.Files = append([]file.Found(nil), survey.Files...)
			for i := range later.Files {
				later.Files[i].Beats++
			}
			return later, nil
		},
		host:  func() hostSeen { return hostSeen{-1, -1, -1, -1, -1, ""} },
		own:   func() map[netip.Addr]bool { return nil },
		asker: func() (asker, error) { return f, nil },
	}
	return l, f, survey
}

// A bus of 1,000 of which 100 are dead is looked at in seconds, with 64 dials at a time.
func TestALargeBusWithManyDeadIsLookedAtSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, f, _ := world(1000)
		for i := range 100 {
			f.dead[fmt.Sprintf("I%04d", i*10)] = true
		}
		start := time.Now()
		s := l.look(t.Context())
		if took := time.Since(start); took > 6*time.Second {
			t.Errorf("took %v, want less than 6s", took)
		}
		if f.most != atOnce {
			t.Errorf("got %d at a time, want %d", f.most, atOnce)
		}
		all := judge(s)
		want := "CRITICAL - 25 errors (address-timeout), 900 warnings (losing), 500 notes (same-name, no-tags), 900 of 1000 entries answered"
		if got := summary(s, all); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if f.asked["I0000"] != 0 || f.asked["I0001"] != 2 {
			t.Errorf("got %d questions to one that cannot be reached and %d to one that can, want 0 and 2", f.asked["I0000"], f.asked["I0001"])
		}
	})
}

// Large questions do not reach one, and large answers do not come from another one. All of
// the fake lose messages between the looks.
func TestTwoLooksOfOneCheckAreCompared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, f, survey := world(3)
		survey.Files[1].Entry.Addresses = survey.Files[0].Entry.Addresses
		f.blackHole["I0001"], f.quiet["I0002"] = true, true
		s := l.look(t.Context())
		ids := []string{}
		for _, finding := range judge(s) {
			if finding.Level > Note {
				ids = append(ids, finding.Instance+" "+finding.ID)
			}
		}
		want := []string{" address-shared", "I0001 mtu", "I0002 mtu", "I0000 losing", "I0001 losing", "I0002 losing"}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// An entry that goes while the check runs has ended in order: nothing is to be said of it.
func TestAnEntryThatGoesMeanwhileIsNoFinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, f, survey := world(2)
		f.dead["I0000"] = true
		gone := *survey
		gone.Files = survey.Files[1:]
		l.again = func() (file.Survey, error) { return gone, nil }
		s := l.look(t.Context())
		if len(s.entries) != 1 || s.entries[0].Entry.Instance != "I0001" {
			t.Errorf("got %d entries, want that of I0001", len(s.entries))
		}
	})
}

// A look that is interrupted says what it knows, at once.
func TestAnInterruptedLookSaysWhatItKnows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, f, _ := world(2)
		f.dead["I0000"] = true
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		start := time.Now()
		s := l.look(ctx)
		if took := time.Since(start); took != 100*time.Millisecond {
			t.Errorf("took %v, want it to end at once", took)
		}
		all := judge(s)
		if got := idsOf(all, Error); len(got) != 0 {
			t.Errorf("got errors %v, want none of what was not waited for", got)
		}
		if got := idsOf(all, Warning); !cmp.Equal(got, []string{"unfinished"}) {
			t.Errorf("got warnings %v, want unfinished", got)
		}
		if code := statusFor(worst(all)); code != 1 {
			t.Errorf("got status %d, want 1", code)
		}
	})
}

// A look that is interrupted at the folder says that it is, and nothing of the folder.
func TestALookIsInterruptedAtTheFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, _ := world(1)
		release := make(chan struct{})
		l.folder = func() folderSeen {
			<-release
			return folderSeen{}
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("stopped by signal"))
		defer cancel()
		all := judge(l.look(ctx))
		if got := idsOf(all, Error); len(got) != 0 {
			t.Errorf("got errors %v, want none of what was not waited for", got)
		}
		if got := idsOf(all, Warning); !cmp.Equal(got, []string{"unfinished"}) {
			t.Errorf("got warnings %v, want unfinished", got)
		}
		close(release)
	})
}

// A folder that hangs is said, once it has taken long enough, and not asked again.
func TestAFolderThatHangsIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, _ := world(1)
		release := make(chan struct{})
		var calls atomic.Int32
		l.folder = func() folderSeen {
			calls.Add(1)
			<-release
			return folderSeen{}
		}
		start := time.Now()
		if s := l.look(t.Context()); !errors.Is(s.folder.err, errHangs) || time.Since(start) != folderPatience {
			t.Errorf("got %v after %v, want errHangs after %v", s.folder.err, time.Since(start), folderPatience)
		}
		if s := l.look(t.Context()); !errors.Is(s.folder.err, errHangs) || calls.Load() != 1 {
			t.Errorf("got %v with %d calls, want errHangs with one", s.folder.err, calls.Load())
		}
		close(release)
	})
}

// Whether a peer has gone for good is known only with all peers that are there.
func TestAnInstanceOfManyPeersIsAskedForAll(t *testing.T) {
	for _, test := range []struct {
		name        string
		connected   int
		local, hole bool
		want        []int
	}{
		{"few", askedPeers, false, false, []int{askedPeers, askedPeers}},
		{"many", askedPeers + 1, false, false, []int{askedPeers, state.MaxPeers}},
		{"many on this host", askedPeers + 1, true, false, []int{askedPeers, state.MaxPeers}},
		{"many, and large packets do not come", askedPeers + 1, false, true, []int{askedPeers, state.MaxPeers, askedPeers}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, f, survey := world(1)
				f.connected, f.blackHole["I0000"] = test.connected, test.hole
				if test.local {
					l.own = func() map[netip.Addr]bool {
						return map[netip.Addr]bool{survey.Files[0].Entry.Addresses[0].Addr(): true}
					}
				}
				l.look(t.Context())
				if diff := cmp.Diff(test.want, f.peers); diff != "" {
					t.Errorf("peers of the questions (-want +got)\n%s", diff)
				}
			})
		})
	}
}
