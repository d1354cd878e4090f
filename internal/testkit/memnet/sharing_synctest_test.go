// SPDX-License-Identifier: Apache-2.0

package memnet_test

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
)

// diary writes down what all connections of a backend hear, in one order.
type diary struct {
	netio.NopHandler
	eps    []netio.Endpoint
	heard  []string
	ready  []int // indices of eps
	onEach func(i int)
	causes []error
}

func (d *diary) OnConnectionEstablished(ep netio.Endpoint) { d.eps = append(d.eps, ep) }
func (d *diary) OnData(_ netio.Endpoint, data []byte)      { d.heard = append(d.heard, string(data)) }

func (d *diary) OnSendReady(ep netio.Endpoint) {
	i := slices.Index(d.eps, ep)
	d.ready = append(d.ready, i)
	if d.onEach != nil {
		d.onEach(i)
	}
}

func (d *diary) OnConnectionClosed(_ netio.Endpoint, _ []netio.Key, cause error) {
	d.causes = append(d.causes, cause)
}

// star connects n clients, on hosts 10.0.1.0 and on, to one server.
func star(t *testing.T, l *memnet.Loop, n int, server netio.Config) (net *memnet.Network, s *diary, clients []*user) {
	t.Helper()
	net, s = memnet.New(), &diary{}
	sb := openBackend(t, net.Opener(l, memnet.Config{Config: server, Host: hostA}), s)
	if _, err := sb.OpenListenEndpoint(addrA, netio.Params{}); err != nil {
		t.Fatalf("OpenListenEndpoint: got error %v, want none", err)
	}
	for i := range n {
		u := &user{}
		cb := openBackend(t, net.Opener(l, memnet.Config{Host: starHost(i)}), u)
		if err := cb.OpenEndpoint(addrA, netio.Params{}); err != nil {
			t.Fatalf("OpenEndpoint: got error %v, want none", err)
		}
		synctest.Wait()
		clients = append(clients, u)
	}
	return net, s, clients
}

func starHost(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 1, byte(i)}) }

func TestSharedSendBuffersAreAnsweredInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, l *memnet.Loop) {
		_, s, _ := star(t, l, 3, netio.Config{SharedSend: netio.SharedBuffers{Buffers: 1}})
		taken, err := s.eps[0].Buffer()
		if err != nil {
			t.Fatalf("Buffer: got error %v, want none", err)
		}
		for _, i := range []int{2, 1, 2, 0} {
			if _, err := s.eps[i].Buffer(); !errors.Is(err, netio.ErrNoResources) {
				t.Fatalf("Buffer with none free: got error %v, want %v", err, netio.ErrNoResources)
			}
		}
		s.onEach = func(i int) {
			if taken, err = s.eps[i].Buffer(); err != nil {
				t.Errorf("Buffer inside OnSendReady: got error %v, want none", err)
			}
		}
		for _, want := range [][]int{{2}, {2, 1}, {2, 1, 2}, {2, 1, 2, 0}} {
			taken.Release()
			synctest.Wait()
			if diff := cmp.Diff(want, s.ready); diff != "" {
				t.Errorf("endpoints that heard OnSendReady (-want +got):\n%s", diff)
			}
		}
		taken.Release()
	})
}

// pass lets d pass. The post orders what the test has read before what the loop
// will write, for the race detector.
func pass(l *memnet.Loop, d time.Duration) {
	l.Post(func() {})
	sleep(d)
}

// say sends text from a client of a star.
func say(t *testing.T, u *user, text string) {
	t.Helper()
	if err := u.send(2, 1, text); err != nil {
		t.Fatalf("send: got error %v, want none", err)
	}
	synctest.Wait()
}

func TestEndpointsWaitForReceiveBuffersInOrder(t *testing.T) {
	inBubble(t, func(t *testing.T, l *memnet.Loop) {
		net, s, clients := star(t, l, 4, netio.Config{SharedReceive: netio.SharedBuffers{Buffers: 1}})
		first := netip.AddrPortFrom(starHost(0), 0)
		net.SetWindow(first, onA, 4)
		net.SetDelay(first, onA, time.Second)
		say(t, clients[0], "slow one") // in two pieces, which arrive after 1 s and 2 s
		pass(l, 1500*time.Millisecond)
		say(t, clients[3], "c")
		say(t, clients[2], "a")
		say(t, clients[1], "b")
		s.eps[2].PauseReceive() // and waits no longer
		if diff := cmp.Diff([]string(nil), s.heard); diff != "" {
			t.Errorf("messages while the only buffer is in use (-want +got):\n%s", diff)
		}
		pass(l, time.Second)
		if diff := cmp.Diff([]string{"slow one", "c", "b"}, s.heard); diff != "" {
			t.Errorf("messages in all (-want +got):\n%s", diff)
		}
		l.Post(s.eps[2].ResumeReceive)
		synctest.Wait()
		if diff := cmp.Diff([]string{"slow one", "c", "b", "a"}, s.heard); diff != "" {
			t.Errorf("messages after the pause (-want +got):\n%s", diff)
		}
	})
}

func TestPeerThatStopsInAMessageIsDisconnectedWhenOthersWait(t *testing.T) {
	tests := []struct {
		name   string
		others bool
		paused bool
		want   error
	}{
		{"others wait for the buffer", true, false, netio.ErrTimeout},
		{"nobody waits", false, false, nil},
		{"the user has paused", true, true, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, l *memnet.Loop) {
				net, s, clients := star(t, l, 2, netio.Config{SharedReceive: netio.SharedBuffers{Buffers: 1}})
				first := netip.AddrPortFrom(starHost(0), 0)
				net.SetWindow(first, onA, 4)
				net.SetDelay(first, onA, time.Second)
				say(t, clients[0], "stops here")
				pass(l, 1500*time.Millisecond)
				net.Stall(first, onA)
				if tt.paused {
					l.Post(s.eps[0].PauseReceive)
				}
				pass(l, time.Hour) // alone
				if tt.others {
					say(t, clients[1], "waits")
				}
				pass(l, 9*time.Second)
				if len(s.causes) != 0 {
					t.Errorf("causes after 9 s: got %v, want none", s.causes)
				}
				pass(l, time.Second)
				if tt.want == nil {
					if len(s.causes) != 0 {
						t.Errorf("causes after 10 s: got %v, want none", s.causes)
					}
					return
				}
				if len(s.causes) != 1 || !errors.Is(s.causes[0], tt.want) {
					t.Errorf("causes after 10 s: got %v, want %v", s.causes, tt.want)
				}
				if diff := cmp.Diff([]string{"waits"}, s.heard); diff != "" {
					t.Errorf("messages of those who waited (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestUnsafeBackendPanicsOffItsLoop(t *testing.T) {
	inBubble(t, func(t *testing.T, l *memnet.Loop) {
		cfg := netio.Config{ThreadSafety: netio.Unsafe, SharedSend: netio.SharedBuffers{Buffers: 1}}
		s := &diary{}
		b := openBackend(t, memnet.New().Opener(l, memnet.Config{Config: cfg}), s)
		var ln netio.ListenEndpoint
		l.Post(func() {
			var err error
			if ln, err = b.OpenListenEndpoint(addrA, netio.Params{}); err == nil {
				err = b.OpenEndpoint(addrA, netio.Params{})
			}
			if err != nil {
				t.Errorf("open on the loop: got error %v, want none", err)
			}
		})
		synctest.Wait()
		ep := s.eps[0]
		var buf *netio.Buffer
		l.Post(func() {
			buf, _ = ep.Buffer()
			if _, err := ep.Buffer(); !errors.Is(err, netio.ErrNoResources) { // so that a waiter is noted
				t.Errorf("take the only buffer twice: got error %v, want %v", err, netio.ErrNoResources)
			}
		})
		synctest.Wait()
		calls := map[string]func(){ // beside those of the conformance suite
			"Addr":         func() { ln.Addr() },
			"Local":        func() { ep.Local() },
			"Remote":       func() { ep.Remote() },
			"Capabilities": func() { ep.Capabilities() },
			"Context":      func() { ep.Context() },
			"SetContext":   func() { ep.SetContext(1) },
			"Release":      buf.Release,
		}
		for name, call := range calls {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s off the loop: got no panic, want one", name)
					}
				}()
				call()
			}()
		}
		if b.Name() == "" || b.Loop() == nil || b.Stats().Opened != 1 {
			t.Errorf("Name, Loop and Stats off the loop: got %q, %v, %+v, want them to work", b.Name(), b.Loop(), b.Stats())
		}
		l.Close()
		if got := ep.Room(); got.Buffers != 1 {
			t.Errorf("Room when the loop has ended: got %+v, want 1 buffer", got)
		}
	})
}
