// SPDX-License-Identifier: Apache-2.0

package reception_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/acl"
	"tagbus/bus/internal/door"
	"tagbus/bus/internal/reception"
	"tagbus/bus/state"
	"tagbus/internal/alarm"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

var (
	errMissed   = errors.New("no hello")
	errGaveWay  = errors.New("gave way")
	errStale    = errors.New("stale")
	errProtocol = errors.New("protocol")
	errFull     = errors.New("full")
	errEnded    = errors.New("ended")
)

const patience = 8 * time.Second

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// bed is a desk that listens. Everything of it belongs to its loop.
type bed struct {
	netio.NopHandler
	t      *testing.T
	net    *memnet.Network
	loop   *memnet.Loop
	alarms alarm.Clock
	desk   *reception.Desk
	addr   netip.AddrPort

	full    error // why no guest enters
	ended   error
	entered []*reception.Guest
	refused []error
	broken  []error
	closed  []*reception.Guest
	strange int // connections that have ended and were no guests
}

var deskHost = netip.MustParseAddr("10.0.0.1")

// newBed makes a desk of two guests.
func newBed(t *testing.T, access door.Access) *bed {
	t.Helper()
	b := &bed{t: t, net: memnet.New(), loop: memnet.NewLoop()}
	backend, err := b.net.Opener(b.loop, memnet.Config{Host: deskHost})(b)
	must(t, err)
	must(t, alarm.Open(&b.alarms, b.loop.NewTimer))
	b.desk = reception.New(reception.Config{
		Post: b.loop.Post, Alarms: &b.alarms, Action: acl.Subscribe, Instance: "this", Most: 2, Patience: patience,
		Door:  &door.Door{Access: access, Refuse: func(r door.Refusal) error { return errors.New(r.String()) }},
		Hello: func() ([]byte, error) { return subscription.AppendHello(nil, subscription.Hello{Instance: "this"}) },
		Refusal: func(reason error) ([]byte, error) {
			return subscription.Append(nil, &subscription.Refused{Reason: reason.Error()})
		},
		Enter: func(g *reception.Guest) error {
			if b.full == nil {
				b.entered = append(b.entered, g)
				g.Ep.SetContext(b)
			}
			return b.full
		},
		Ended: func() error { return b.ended },
		Describe: func(_ context.Context, q state.Question) (state.State, error) {
			return state.State{Tags: "1-9", KnownTags: q.Tags.Parts(), Asked: []state.Tag{{Tag: 1}, {Tag: 7}}}, nil
		},
		Refused: func(_ *reception.Guest, reason error) { b.refused = append(b.refused, reason) },
		Broken:  func(_ *reception.Guest, err error) { b.broken = append(b.broken, err) },
		Missed:  errMissed, GaveWay: errGaveWay, Stale: errStale, Protocol: errProtocol,
	})
	l, err := backend.OpenListenEndpoint(netip.AddrPortFrom(deskHost, 0), netio.Params{
		Buffered: netio.BufferedParams{Buffers: 4, BufferBytes: subscription.MaxControlBytes},
	})
	must(t, err)
	b.addr = l.Addr()
	t.Cleanup(func() {
		b.desk.Observers.End()
		must(t, b.alarms.Close())
		must(t, backend.Close())
		b.desk.Observers.Wait()
		b.loop.Close()
	})
	return b
}

func (b *bed) OnConnectionEstablished(ep netio.Endpoint) { b.desk.Greet(ep) }

func (b *bed) OnConnectionClosed(ep netio.Endpoint, _ []netio.Key, _ error) {
	if g := b.desk.Closed(ep); g != nil {
		b.closed = append(b.closed, g)
	} else {
		b.strange++
	}
}

func (b *bed) OnData(ep netio.Endpoint, data []byte) { b.desk.Data(ep, data) }
func (b *bed) OnSendCompleted(c netio.Completion)    { b.desk.Sent(c.Endpoint) }
func (b *bed) OnSendReady(ep netio.Endpoint)         { b.desk.SendReady(ep) }

// refusals returns why guests have had to go.
func (b *bed) refusals() (all []error) {
	b.loop.Do(func() { all = b.refused })
	return all
}

// peer dials the desk, on a host of its own. Everything of it belongs to its loop.
type peer struct {
	netio.NopHandler
	loop  *memnet.Loop
	host  netip.Addr
	ep    netio.Endpoint
	got   [][]byte
	ended bool
}

func (b *bed) peer(number byte) *peer {
	b.t.Helper()
	p := &peer{loop: memnet.NewLoop(), host: netip.AddrFrom4([4]byte{10, 0, 1, number})}
	backend, err := b.net.Opener(p.loop, memnet.Config{Host: p.host})(p)
	must(b.t, err)
	must(b.t, backend.OpenEndpoint(b.addr, netio.Params{Buffered: netio.BufferedParams{Buffers: 4, BufferBytes: subscription.MaxControlBytes}}))
	b.t.Cleanup(func() {
		must(b.t, backend.Close())
		p.loop.Close()
	})
	synctest.Wait()
	return p
}

func (p *peer) OnConnectionEstablished(ep netio.Endpoint)             { p.ep = ep }
func (p *peer) OnConnectionClosed(netio.Endpoint, []netio.Key, error) { p.ended = true }
func (p *peer) OnData(_ netio.Endpoint, data []byte) {
	p.got = append(p.got, append([]byte(nil), data...))
}

// says sends a message, and returns what has come by then and whether the connection has ended.
func (p *peer) says(t *testing.T, message []byte) (got [][]byte, ended bool) {
	t.Helper()
	p.loop.Do(func() { must(t, p.ep.SendCopy(0, nil, message)) })
	return p.hears()
}

// hears returns what has come by now, and whether the connection has ended.
func (p *peer) hears() (got [][]byte, ended bool) {
	synctest.Wait()
	p.loop.Do(func() { got, ended = p.got, p.ended })
	return got, ended
}

func hello(t *testing.T, h subscription.Hello) []byte {
	t.Helper()
	if h.Instance == "" {
		h.Instance = "peer"
	}
	b, err := subscription.AppendHello(nil, h)
	must(t, err)
	return b
}

// reasonOf returns the text of the only message, a refusal.
func reasonOf(t *testing.T, got [][]byte) string {
	t.Helper()
	if len(got) != 1 {
		t.Fatalf("got %d messages, want one", len(got))
	}
	m, err := subscription.DecodeRefused(got[0])
	must(t, err)
	return m.Reason
}

func TestAGuestEnters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, nil)
		for i := range byte(5) { // those that have entered are guests no more
			got, ended := b.peer(i).says(t, hello(t, subscription.Hello{Name: "x", Expect: "this"}))
			if len(got) > 0 || ended {
				t.Errorf("got %d messages, ended %v; want neither", len(got), ended)
			}
		}
		time.Sleep(time.Hour)
		b.loop.Do(func() {
			if len(b.entered) != 5 || b.entered[0].Hello.Name != "x" || len(b.refused) > 0 {
				t.Errorf("got %d entered, refused %v; want 5 with their hello", len(b.entered), b.refused)
			}
		})
	})
}

func TestAGuestThatIsRefused(t *testing.T) {
	tests := []struct {
		name string
		say  []byte
		full error
		want string // it is told
		err  error
	}{
		{"as there is no room", hello(t, subscription.Hello{}), errFull, "full", errFull},
		{"as it means another one", hello(t, subscription.Hello{Expect: "that"}), nil, "stale: expected that, this is this", errStale},
		{"as an observer that takes too little", hello(t, subscription.Hello{Role: subscription.RoleObserver, MaxMessageBytes: 100}), nil, "protocol: observer receives at most 100 bytes at once, want 16384", errProtocol},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, nil)
				b.full = test.full
				got, ended := b.peer(1).says(t, test.say)
				if reason := reasonOf(t, got); reason != test.want || !ended {
					t.Errorf("got %q, ended %v; want %q, and the end", reason, ended, test.want)
				}
				if all := b.refusals(); len(all) != 1 || !errors.Is(all[0], test.err) {
					t.Errorf("got refusals %v, want %v", all, test.err)
				}
				if len(b.closed) != 1 || !errors.Is(b.closed[0].Reason, test.err) || b.closed[0].Barred {
					t.Errorf("got %+v closed, want one with the reason", b.closed)
				}
			})
		})
	}
}

// A peer of another version understands nothing but the hello, which has the version.
func TestAGuestOfAnotherVersionGetsTheHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, nil)
		say := hello(t, subscription.Hello{})
		at := strings.Index(string(say), "peer")
		for i := range at { // the version is somewhere before
			changed := append([]byte(nil), say...)
			changed[i]++
			if _, err := subscription.DecodeHello(changed); errors.As(err, new(*subscription.VersionError)) {
				say = changed
				break
			}
		}
		got, ended := b.peer(1).says(t, say)
		if len(got) != 1 || !ended {
			t.Fatalf("got %d messages, ended %v; want one, and the end", len(got), ended)
		}
		if h, err := subscription.DecodeHello(got[0]); err != nil || h.Instance != "this" {
			t.Errorf("got %+v, %v; want the hello of this side", h, err)
		}
		if all := b.refusals(); len(all) != 1 || !errors.As(all[0], new(*subscription.VersionError)) {
			t.Errorf("got refusals %v, want the version", all)
		}
	})
}

func TestAStrangerGetsNoAnswer(t *testing.T) {
	tests := []struct {
		name string
		say  string
		want error
	}{
		{"that speaks something else", "GET / HTTP/1.1", subscription.ErrMagic},
		{"that says nothing", "", errMissed},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, nil)
				p := b.peer(1)
				if test.say != "" {
					p.says(t, []byte(test.say))
				} else {
					time.Sleep(patience)
					if _, ended := p.hears(); ended {
						t.Error("it ended too early")
					}
					time.Sleep(patience)
				}
				if got, ended := p.hears(); len(got) > 0 || !ended {
					t.Errorf("got %d messages, ended %v; want the end alone", len(got), ended)
				}
				if all := b.refusals(); len(all) != 1 || !errors.Is(all[0], test.want) {
					t.Errorf("got refusals %v, want %v", all, test.want)
				}
			})
		})
	}
}

func TestTheOldestGuestGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, nil)
		first, second := b.peer(1), b.peer(2)
		b.peer(3)
		if _, ended := first.hears(); !ended {
			t.Error("the first guest stays, want it to give way")
		}
		if _, ended := second.hears(); ended {
			t.Error("the second guest has gone, too")
		}
		if all := b.refusals(); len(all) != 1 || !errors.Is(all[0], errGaveWay) || all[0].Error() != "gave way: 2 have not said hello" {
			t.Errorf("got refusals %v, want that it gave way", all)
		}
	})
}

// A guest that does not take the message which says why it has to go has as long for it as for
// its hello, or until others need its place.
func TestARefusedGuestThatReadsNothing(t *testing.T) {
	for _, crowded := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t, nil)
			b.full = errFull
			p := b.peer(1)
			from, to := netip.AddrPortFrom(deskHost, 0), netip.AddrPortFrom(p.host, 0)
			b.net.SetWindow(from, to, 1)
			b.net.Stall(from, to)
			p.says(t, hello(t, subscription.Hello{}))
			if crowded {
				b.peer(2)
				b.peer(3)
			} else {
				time.Sleep(2 * patience)
			}
			synctest.Wait()
			b.loop.Do(func() {
				if len(b.closed) != 1 || len(b.refused) != 1 || !errors.Is(b.refused[0], errFull) {
					t.Errorf("crowded %v: got %d closed, refusals %v; want one, told once", crowded, len(b.closed), b.refused)
				}
			})
		})
	}
}

func TestAnObserverIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, nil)
		p := b.peer(1)
		got, _ := p.says(t, hello(t, subscription.Hello{Role: subscription.RoleObserver, MaxMessageBytes: 1 << 20}))
		if len(got) != 1 {
			t.Fatalf("got %d messages, want the hello", len(got))
		}
		if s := ask(t, p); s.Tags != "1-9" || len(s.Asked) != 2 {
			t.Errorf("got %+v, want the whole state", s)
		}
		if _, ended := p.says(t, []byte("nonsense")); !ended || len(b.broken) != 1 {
			t.Errorf("it says what it may not: ended %v, broken %v; want the end, and told once", ended, b.broken)
		}
		if b.strange != 1 || len(b.closed) > 0 || len(b.entered) > 0 {
			t.Errorf("got %d observers and %d guests that have ended, and %d entered; want one observer", b.strange, len(b.closed), len(b.entered))
		}
		b.ended = errEnded
		got, ended := b.peer(2).says(t, hello(t, subscription.Hello{Role: subscription.RoleObserver, MaxMessageBytes: 1 << 20}))
		if reason := reasonOf(t, got); reason != "ended" || !ended {
			t.Errorf("at the end: got %q, ended %v; want why, and the end", reason, ended)
		}
	})
}

// ask asks for the state of the desk.
func ask(t *testing.T, p *peer) (s state.State) {
	t.Helper()
	set, err := tags.Of(1, 7).MarshalBinary()
	must(t, err)
	question, err := subscription.Append(nil, &subscription.Describe{ID: 1, Set: set})
	must(t, err)
	p.says(t, question)
	time.Sleep(time.Second)
	got, _ := p.hears()
	m, err := subscription.Decode(got[len(got)-1])
	must(t, err)
	answer, ok := m.(*subscription.Description)
	if !ok {
		t.Fatalf("got %+v, want a state", m)
	}
	must(t, json.Unmarshal(answer.Part, &s))
	return s
}
