// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"context"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/internal/observe"
	"tagbus/bus/state"
	"tagbus/subscription"
)

// What hostile observers do: an operation is one byte that names it, and one for the
// observer.
const (
	opConnect = iota
	opAsk
	opAskBadly
	opBeat
	opRaw
	opStall
	opResume
	opClose
	opWait
	opConnectAll
	opAskAll
	operations
)

// hostileAskers is how many observers there may be: more than have a place.
const hostileAskers = observe.MaxObservers + 16

// FuzzObservers lets many hostile observers do what the input says. What must hold: nothing
// panics; there are no more observers than have a place; answers take a tenth of the time;
// none is left some time after the end.
func FuzzObservers(f *testing.F) {
	f.Add([]byte{opConnect, 0, opAsk, 0, opWait, 1, opAsk, 0, opAsk, 0, opWait, 1})
	f.Add([]byte{opConnectAll, 0, opAskAll, 0, opWait, 1, opStall, 3, opAskAll, 0, opWait, 9, opConnectAll, 0, opAskAll, 0, opResume, 3, opWait, 200})
	f.Add([]byte{opConnect, 1, opRaw, 1, opConnect, 2, opAskBadly, 2, opBeat, 2, opWait, 1, opClose, 2, opConnect, 2})
	f.Add([]byte{opConnect, 1, opStall, 1, opAsk, 1, opWait, 61, opConnect, 1, opAsk, 1, opClose, 1, opWait, 1})
	f.Fuzz(func(t *testing.T, input []byte) {
		if len(input) > 80 {
			t.Skip("longer than a program is")
		}
		synctest.Test(t, func(t *testing.T) {
			const each = 20 * time.Millisecond
			b := newBed(t)
			answer := large(60_000) // four messages
			b.describe = func(ctx context.Context, _ state.Question) (state.State, error) {
				select {
				case <-time.After(each):
				case <-ctx.Done():
				}
				return answer, nil
			}
			begun := time.Now()
			h := &hostiles{b: b, input: input}
			for i := 0; i+1 < len(input); i += 2 {
				h.do(input[i]%operations, int(input[i+1]))
				synctest.Wait()
				if n := b.observers(); n > observe.MaxObservers {
					t.Fatalf("got %d observers, want at most %d", n, observe.MaxObservers)
				}
			}
			if busy, passed := b.worked(), time.Since(begun); busy > passed/(1+observe.Rest)+each {
				t.Errorf("answers took %v of %v, want a tenth", busy, passed)
			}
			for i := range h.askers {
				b.net.Resume(h.way(i))
			}
			time.Sleep(time.Hour)
			if n := b.observers(); n != 0 {
				t.Errorf("got %d observers in the end, want none", n)
			}
		})
	})
}

// hostiles are the observers of a program.
type hostiles struct {
	b      *bed
	input  []byte
	askers [hostileAskers]*asker
	asked  uint64
}

// way returns the way from the server to an observer.
func (*hostiles) way(i int) (from, to netip.AddrPort) {
	return netip.AddrPortFrom(serverHost, 0), netip.AddrPortFrom(hostOf(i), 0)
}

// do does an operation.
func (h *hostiles) do(operation byte, arg int) {
	i := arg % hostileAskers
	switch operation {
	case opConnect:
		h.connect(i)
	case opConnectAll:
		for i := range h.askers {
			h.connect(i)
		}
	case opAskAll:
		for i := range h.askers {
			h.ask(i, nil)
		}
	case opAsk:
		h.ask(i, nil)
	case opAskBadly:
		h.ask(i, h.input[:min(len(h.input), arg+1)])
	case opBeat:
		h.send(i, []byte{byte(subscription.KindBeat), 0x80})
	case opRaw:
		h.send(i, h.input[:min(len(h.input), arg+1)])
	case opStall:
		h.b.net.Stall(h.way(i))
	case opResume:
		h.b.net.Resume(h.way(i))
	case opClose:
		if h.askers[i] != nil {
			h.askers[i].close()
		}
	case opWait:
		time.Sleep(time.Duration(arg) * time.Second)
	}
}

// connect connects an observer, unless it is connected.
func (h *hostiles) connect(i int) {
	switch a := h.askers[i]; {
	case a == nil:
		h.askers[i] = h.b.asker(i)
	case !a.end().IsZero():
		a.again()
	default:
		return
	}
	synctest.Wait()
}

// ask asks, with a set.
func (h *hostiles) ask(i int, set []byte) {
	h.asked++
	data, err := subscription.Append(nil, &subscription.Describe{ID: h.asked, Peers: 9, Set: set})
	must(h.b.tb, err)
	h.send(i, data)
}

// send sends bytes, if the observer is connected.
func (h *hostiles) send(i int, data []byte) {
	if a := h.askers[i]; a != nil {
		a.sendRaw(data)
	}
}
