// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"slices"
	"testing"
	"time"

	"tagbus/netio"
	"tagbus/subscription"
)

// beatEndpoint is an endpoint that counts what it is given, in each of its ways.
type beatEndpoint struct {
	netio.Endpoint
	can            netio.Capabilities
	whole          bool // it takes direct sends whole
	direct, queued int
	pool           *netio.Pool // of its buffers
	sent           [][]byte
	key            netio.Key // of the last one that is not done
}

func (e *beatEndpoint) Capabilities() netio.Capabilities { return e.can }

func (e *beatEndpoint) SendDirect(key netio.Key, _ []byte, data ...[]byte) (bool, error) {
	e.direct++
	e.key = key
	e.sent = append(e.sent, slices.Concat(data...))
	return e.whole, nil
}

func (e *beatEndpoint) Send(key netio.Key, _ []byte, data ...[]byte) error {
	e.queued++
	e.key = key
	e.sent = append(e.sent, slices.Concat(data...))
	return nil
}

func (e *beatEndpoint) Buffer() (*netio.Buffer, error) { return e.pool.Get(), nil }

func (e *beatEndpoint) SendBuffer(b *netio.Buffer) error {
	e.queued++
	e.key = b.Key()
	e.sent = append(e.sent, slices.Clone(b.Bytes()))
	return nil
}

// A beat is sent directly where that is possible and nothing is on its way, and once in any
// case. It leaves nothing behind, and does not count as something sent.
func TestABeatGoesTheShortestWay(t *testing.T) {
	all := netio.Capabilities{AnyMemory: true, Direct: true}
	for _, x := range []struct {
		name   string
		can    netio.Capabilities
		whole  bool
		before bool // something is in flight
		direct int
	}{
		{"idle", all, true, false, 1},
		{"idle, and the system has no room", all, false, false, 1},
		{"something is in flight", all, true, true, 0},
		{"no direct sends", netio.Capabilities{AnyMemory: true}, true, false, 0},
		{"only from the memory of the backend", netio.Capabilities{Direct: true}, true, false, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			pool, err := netio.NewPool(2, 64)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pool.Retire)
			fan, box := new(Fanout), new(Outbox)
			if fan.beat.control, err = subscription.Append(nil, &subscription.Beat{}); err != nil {
				t.Fatal(err)
			}
			fan.beatData = [][]byte{fan.beat.control}
			e := &beatEndpoint{can: x.can, whole: x.whole, pool: pool}
			box.Init(fan, e, func(err error) { t.Errorf("fault %v", err) })
			var keys []netio.Key
			if x.before {
				box.SendBytes([]byte("x"))
				keys = append(keys, e.key)
			}
			box.Tick(time.Time{}, 0)
			box.Beat()
			if e.direct != x.direct || string(e.sent[len(e.sent)-1]) != string(fan.beat.control) {
				t.Errorf("got %d direct sends, the last %x, want %d and a beat", e.direct, e.sent, x.direct)
			}
			if x.direct == 0 || !x.whole {
				keys = append(keys, e.key)
			}
			for _, key := range keys {
				box.Completed(key)
			}
			if sent, _, idle := box.Tick(time.Time{}, 0); sent || !idle || box.controlBytes != 0 {
				t.Errorf("at the end: sent %t, idle %t, %d bytes of control, want false, true and 0", sent, idle, box.controlBytes)
			}
			n := len(e.sent)
			box.mu.Lock()
			box.dead = true
			box.mu.Unlock()
			if box.Beat(); len(e.sent) > n {
				t.Error("a beat was sent after the end")
			}
		})
	}
}

// Beats for thousands of subscribers are due in one tick: each costs a call of the system
// and no memory.
func TestADirectBeatAllocatesNothing(t *testing.T) {
	fan, box := new(Fanout), new(Outbox)
	fan.beat.control = []byte("beat")
	e := &silentEndpoint{}
	box.Init(fan, e, func(error) {})
	box.Beat() // makes the queue of what is in flight
	if got := testing.AllocsPerRun(100, func() { box.Tick(time.Time{}, 0); box.Beat() }); got > 0 {
		t.Errorf("got %v allocations for a beat, want none", got)
	}
}

// silentEndpoint takes all direct sends.
type silentEndpoint struct{ netio.Endpoint }

func (*silentEndpoint) Capabilities() netio.Capabilities {
	return netio.Capabilities{AnyMemory: true, Direct: true}
}

func (*silentEndpoint) SendDirect(netio.Key, []byte, ...[]byte) (bool, error) { return true, nil }
