// SPDX-License-Identifier: Apache-2.0

package sendqueue_test

import (
	"errors"
	"strings"
	"testing"

	"tagbus/netio"
)

// transport is an endpoint that notes what it is given, and in which way.
type transport struct {
	netio.Endpoint
	can   netio.Capabilities
	whole bool  // it takes direct sends whole
	full  error // of all ways, or nil
	pool  *netio.Pool
	way   string // d, c, b: direct, copied, in a buffer
}

func newTransport(t *testing.T, can netio.Capabilities, whole bool) *transport {
	t.Helper()
	pool, err := netio.NewPool(4, 1<<10)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Retire)
	return &transport{can: can, whole: whole, pool: pool}
}

func (e *transport) Capabilities() netio.Capabilities { return e.can }

func (e *transport) SendDirect(netio.Key, []byte, ...[]byte) (bool, error) {
	if e.full != nil {
		return false, e.full
	}
	e.way += "d"
	return e.whole, nil
}

func (e *transport) SendCopy(netio.Key, []byte, ...[]byte) error {
	if e.full == nil {
		e.way += "c"
	}
	return e.full
}

func (e *transport) Buffer() (*netio.Buffer, error) { return e.pool.Get(), nil }

func (e *transport) SendBuffer(b *netio.Buffer) error {
	if e.full == nil {
		e.way += "b"
		b.MarkSent(e.pool)
		b.ReleaseSent()
	}
	return e.full
}

var (
	every = netio.Capabilities{Immediate: true, Direct: true, AnyMemory: true}
	large = []byte(strings.Repeat("x", 257))
)

// Small messages are copied if the endpoint can do that: an idle one then needs no buffer.
func TestPumpCopiesWhatIsSmall(t *testing.T) {
	for _, x := range []struct {
		can  netio.Capabilities
		want string
	}{{every, "cbc"}, {netio.Capabilities{}, "bbb"}} {
		p, e := newPeer(), newTransport(t, x.can, true)
		p.queue.Push(large[:256])
		p.queue.Push(large)
		p.queue.Push(large[:1])
		if err := p.queue.Pump(e); err != nil || e.way != x.want || p.queue.Waits() {
			t.Errorf("got %q, error %v, waits %t, want %q", e.way, err, p.queue.Waits(), x.want)
		}
	}
}

// What an endpoint does not take waits, and no buffer is lost.
func TestPumpKeepsWhatIsNotTaken(t *testing.T) {
	for _, message := range [][]byte{large, large[:1]} {
		p, e := newPeer(), newTransport(t, every, true)
		e.full = netio.ErrNoResources
		p.queue.Push(message)
		if err := p.queue.Pump(e); !errors.Is(err, netio.ErrNoResources) || !p.queue.Waits() || e.pool.Free() != 4 {
			t.Errorf("got error %v, waits %t, %d buffers free", err, p.queue.Waits(), e.pool.Free())
		}
		e.full = nil
		if err := p.queue.Pump(e); err != nil || p.queue.Waits() {
			t.Errorf("with room: got error %v, waits %t", err, p.queue.Waits())
		}
	}
}

// A beat is sent directly to an idle connection, and else behind what is there.
func TestABeatIsSentDirectly(t *testing.T) {
	for _, x := range []struct {
		name        string
		can         netio.Capabilities
		whole, busy bool
		want        string
		idle        bool // afterwards
	}{
		{"idle", every, true, false, "d", true},
		{"idle, and the system has no room", every, false, false, "d", false},
		{"not idle", every, true, true, "cc", false},
		{"without direct sends", netio.Capabilities{Immediate: true}, true, false, "c", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			p, e := newPeer(), newTransport(t, x.can, x.whole)
			if x.busy {
				p.queue.Push(large[:1])
				if err := p.queue.Pump(e); err != nil {
					t.Fatal(err)
				}
				p.queue.Sent()
			}
			if err := p.queue.Beat(e, large[:2]); err != nil || e.way != x.want || p.queue.Idle() != x.idle || p.queue.Sent() {
				t.Errorf("got %q, error %v, idle %t, want %q, none, %t, and nothing counted as sent", e.way, err, p.queue.Idle(), x.want, x.idle)
			}
			for range len(x.want) {
				if !p.queue.Idle() {
					p.queue.Completed()
				}
			}
			if !p.queue.Idle() {
				t.Error("not idle when all is completed")
			}
		})
	}
	p, e := newPeer(), newTransport(t, every, true)
	e.full = netio.ErrNoResources
	if err := p.queue.Beat(e, large[:2]); !errors.Is(err, netio.ErrNoResources) || !p.queue.Waits() {
		t.Errorf("a beat that is not taken: got error %v, waits %t, want it to wait", err, p.queue.Waits())
	}
}
