// SPDX-License-Identifier: Apache-2.0

package observe_test

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"time"

	"tagbus/bus/internal/observe"
	"tagbus/bus/state"
	"tagbus/internal/alarm"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
	"tagbus/subscription"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// bed is a server that listens, and a network.
type bed struct {
	netio.NopHandler
	tb     testing.TB
	net    *memnet.Network
	loop   *memnet.Loop
	alarms alarm.Clock
	server *observe.Server
	addr   netip.AddrPort

	mu       sync.Mutex
	describe func(context.Context, state.Question) (state.State, error)
	begun    int           // calls of describe
	busy     time.Duration // that they took
	broken   []error
	closed   map[netip.Addr]time.Time // by the host of the asker
}

var serverHost = netip.MustParseAddr("10.0.0.1")

func newBed(tb testing.TB) *bed {
	tb.Helper()
	b := &bed{tb: tb, net: memnet.New(), loop: memnet.NewLoop(), closed: make(map[netip.Addr]time.Time)}
	backend, err := b.net.Opener(b.loop, memnet.Config{Host: serverHost})(b)
	must(tb, err)
	must(tb, alarm.Open(&b.alarms, b.loop.NewTimer))
	b.describe = func(_ context.Context, q state.Question) (state.State, error) {
		return state.State{Version: state.Version, Connected: q.Peers, KnownTags: q.Tags.Parts()}, nil
	}
	b.server = observe.New(observe.Config{
		Post: b.loop.Post, Alarms: &b.alarms,
		Describe: func(ctx context.Context, _ any, q state.Question) (state.State, error) {
			b.mu.Lock()
			b.begun++
			b.mu.Unlock()
			begun := time.Now()
			s, err := b.describe(ctx, q)
			b.mu.Lock()
			defer b.mu.Unlock()
			b.busy += time.Since(begun)
			return s, err
		},
		Broken: func(_ *observe.Observer, err error) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.broken = append(b.broken, err)
		},
	})
	l, err := backend.OpenListenEndpoint(netip.AddrPortFrom(serverHost, 0), netio.Params{
		Buffered: netio.BufferedParams{Buffers: 4, BufferBytes: subscription.MaxControlBytes},
	})
	must(tb, err)
	b.addr = l.Addr()
	tb.Cleanup(func() {
		b.server.End()
		must(tb, b.alarms.Close())
		must(tb, backend.Close())
		b.server.Wait()
		b.loop.Close()
	})
	return b
}

// on runs f on the loop.
func (b *bed) on(f func()) {
	done := make(chan struct{})
	b.loop.Post(func() { f(); close(done) })
	<-done
}

// observers returns how many there are.
func (b *bed) observers() (n int) {
	b.on(func() { n = b.server.Observers() })
	return n
}

func (b *bed) OnConnectionEstablished(ep netio.Endpoint) {
	b.server.Enter(ep, []byte("hello"), ep.Remote())
}

func (b *bed) OnConnectionClosed(ep netio.Endpoint, _ []netio.Key, _ error) {
	b.mu.Lock()
	b.closed[ep.Remote().Addr()] = time.Now()
	b.mu.Unlock()
	ep.Context().(*observe.Observer).Closed()
}

func (*bed) OnData(ep netio.Endpoint, data []byte) { ep.Context().(*observe.Observer).Data(data) }

func (*bed) OnSendCompleted(c netio.Completion) { c.Endpoint.Context().(*observe.Observer).Sent() }

func (*bed) OnSendReady(ep netio.Endpoint) { ep.Context().(*observe.Observer).SendReady() }

// asker is an observer made by hand, on a host of its own.
type asker struct {
	netio.NopHandler
	b       *bed
	host    netip.Addr
	backend netio.Backend

	mu    sync.Mutex
	ep    netio.Endpoint
	got   []subscription.Message
	at    []time.Time // of these
	ended time.Time   // zero: it is connected
}

// hostOf returns the host of an asker.
func hostOf(number int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 1, byte(number >> 8), byte(number)})
}

// asker connects an asker.
func (b *bed) asker(number int) *asker {
	b.tb.Helper()
	return b.askerAt(hostOf(number))
}

// askerAt connects an asker of a host.
func (b *bed) askerAt(host netip.Addr) *asker {
	b.tb.Helper()
	a := &asker{b: b, host: host}
	loop := memnet.NewLoop()
	backend, err := b.net.Opener(loop, memnet.Config{Host: a.host})(a)
	must(b.tb, err)
	a.backend = backend
	a.again()
	b.tb.Cleanup(func() {
		must(b.tb, backend.Close())
		loop.Close()
	})
	return a
}

func (a *asker) OnConnectionEstablished(ep netio.Endpoint) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ep, a.ended = ep, time.Time{}
}

func (a *asker) OnConnectionClosed(netio.Endpoint, []netio.Key, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ended = time.Now()
}

func (a *asker) OnData(_ netio.Endpoint, data []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if string(data) == "hello" {
		return
	}
	m, err := subscription.Decode(data)
	if err != nil || len(data) > subscription.MaxControlBytes {
		a.b.tb.Errorf("got a message of %d bytes, with error %v", len(data), err)
		return
	}
	a.got, a.at = append(a.got, m), append(a.at, time.Now())
}

// send sends messages.
func (a *asker) send(messages ...subscription.Message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range messages {
		data, err := subscription.Append(nil, m)
		must(a.b.tb, err)
		_ = a.ep.SendCopy(0, nil, data)
	}
}

// answers returns the texts of the answers so far, by their ids, and how many are whole.
func (a *asker) answers() (texts map[uint64]string, whole int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	texts = make(map[uint64]string)
	for _, m := range a.got {
		switch m := m.(type) {
		case *subscription.Description:
			texts[m.ID] += string(m.Part)
			if !m.More {
				whole++
			}
		case *subscription.Refused:
			texts[m.ID] += "refused: " + m.Reason
			whole++
		default:
			a.b.tb.Errorf("got %v", m.Kind())
		}
	}
	return texts, whole
}

// end returns when its connection has ended; zero: it has not.
func (a *asker) end() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended
}

// closedAfter returns how long after a time the server has closed an asker, which may be
// stalled itself.
func (b *bed) closedAfter(a *asker, begun time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed[a.host].Sub(begun)
}

// asked returns how often the state was asked for.
func (b *bed) asked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.begun
}

// wrong returns what was broken.
func (b *bed) wrong() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return errors.Join(b.broken...)
}

// first returns when the first message came.
func (a *asker) first() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.at) == 0 {
		return time.Time{}
	}
	return a.at[0]
}

// close closes the connection.
func (a *asker) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = a.ep.Close()
}

// again connects it, after the end of its connection.
func (a *asker) again() {
	must(a.b.tb, a.backend.OpenEndpoint(a.b.addr, netio.Params{ZeroCopy: netio.ZeroCopyParams{Outstanding: 256}}))
}

// sendRaw sends a message as it is.
func (a *asker) sendRaw(data []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ep != nil {
		_ = a.ep.SendCopy(0, nil, data)
	}
}

// worked returns how long all answers took.
func (b *bed) worked() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.busy
}
