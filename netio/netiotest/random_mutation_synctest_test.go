// SPDX-License-Identifier: Apache-2.0

package netiotest_test

import (
	"errors"
	"flag"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
	"tagbus/netio/netiotest"
)

// randomMutation is a backend that breaks one promise, which a random run must
// notice.
type randomMutation struct {
	name string
	faults
	wrap   func(b netio.Backend) netio.Backend // nil: not at all
	unseen bool                                // in a race build
}

// newRandomMutations returns the mutations with their state.
func newRandomMutations() []randomMutation {
	return slices.Concat(callbackMutations(), endMutations(), backendMutations())
}

// callbackMutations are wrong in the middle of a connection.
func callbackMutations() []randomMutation {
	return []randomMutation{
		{name: "a completion is reported twice", faults: faults{completed: func(b *broken, key netio.Key, call func(netio.Key)) {
			call(key)
			if b.nth("completed", 5) {
				call(key)
			}
		}}},
		{name: "one bit of a message is changed", faults: faults{data: func(b *broken, data []byte, call func([]byte)) {
			data = slices.Clone(data)
			if b.nth("data", 5) {
				data[0] ^= 1
			}
			call(data)
		}}},
		{name: "a message is dropped", faults: faults{data: func(b *broken, data []byte, call func([]byte)) {
			if !b.nth("data", 5) {
				call(data)
			}
		}}},
		{name: "a direct send that is done is lost", faults: faults{direct: func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) (bool, error) {
			if e.b.nth("direct", 3) {
				return true, nil
			}
			return e.Endpoint.SendDirect(key, header, data...)
		}}},
		{name: "a direct send that is done is completed too", faults: faults{direct: func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) (bool, error) {
			done, err := e.Endpoint.SendDirect(key, header, data...)
			if done {
				e.b.Loop().Post(func() { e.b.h.OnSendCompleted(netio.Completion{Endpoint: e, Key: key}) })
			}
			return done, err
		}}},
		{name: "a buffer is lost", faults: faults{buffer: func(e *brokenEndpoint) (*netio.Buffer, error) {
			if e.b.nth("buffer", 5) {
				_, _ = e.Endpoint.Buffer()
			}
			return e.Endpoint.Buffer()
		}}},
		{name: "a refused open is reported twice", faults: faults{refused: func(_ *broken, call func()) { call(); call() }}},
		{name: "a refused open is not reported", faults: faults{refused: func(*broken, func()) {}}},
		{name: "of a vector of many pieces the last is left out", faults: faults{send: func(e *brokenEndpoint, key netio.Key, header []byte, data [][]byte) error {
			return e.Endpoint.Send(key, header, data[:min(len(data), 1024)]...)
		}}},
	}
}

// endMutations are wrong at the end of a connection.
func endMutations() []randomMutation {
	var killed, paused onlySome
	return []randomMutation{
		{name: "a close leaves out a key", faults: faults{closed: func(_ *broken, keys []netio.Key, cause error, call func([]netio.Key, error)) {
			call(keys[min(1, len(keys)):], cause)
		}}},
		{name: "a key of a killed backend is dropped", faults: faults{
			closeAll: func(b *broken) error {
				killed.add(b)
				return b.Backend.Close()
			},
			closed: func(b *broken, keys []netio.Key, cause error, call func([]netio.Key, error)) {
				if killed.has(b) {
					keys = keys[min(1, len(keys)):]
				}
				call(keys, cause)
			},
		}},
		{name: "a close during a stall loses its OnConnectionClosed", faults: faults{
			pause: func(e *brokenEndpoint) {
				paused.add(e)
				e.Endpoint.PauseReceive()
			},
			close: func(e *brokenEndpoint) error {
				if paused.has(e) {
					return nil
				}
				return e.Endpoint.Close()
			},
		}},
		{name: "a close inside OnConnectionEstablished is lost", faults: faults{
			established: func(b *broken, call func()) {
				killed.add(b) // the backend stands for its present callback
				call()
				killed.remove(b)
			},
			close: func(e *brokenEndpoint) error {
				if killed.has(e.b) && e.b.Loop().OnLoop() {
					return nil
				}
				return e.Endpoint.Close()
			},
		}},
		{name: "the end has a cause that is no *OpError", faults: faults{closed: func(_ *broken, keys []netio.Key, cause error, call func([]netio.Key, error)) {
			if cause != nil {
				cause = errors.New("something")
			}
			call(keys, cause)
		}}},
		{name: "a closed endpoint keeps its send buffers", unseen: true, faults: faults{close: func(e *brokenEndpoint) error {
			_, _ = e.Endpoint.Buffer()
			return e.Endpoint.Close()
		}}},
	}
}

// onlySome remembers some values, on any goroutine.
type onlySome struct{ all atomic.Pointer[[]any] }

func (o *onlySome) has(v any) bool {
	all := o.all.Load()
	return all != nil && slices.Contains(*all, v)
}

func (o *onlySome) add(v any) {
	o.change(func(all []any) []any { return append(slices.Clone(all), v) })
}

func (o *onlySome) remove(v any) {
	o.change(func(all []any) []any {
		return slices.DeleteFunc(slices.Clone(all), func(x any) bool { return x == v })
	})
}

func (o *onlySome) change(f func([]any) []any) {
	for {
		old := o.all.Load()
		var all []any
		if old != nil {
			all = *old
		}
		if all = f(all); o.all.CompareAndSwap(old, &all) {
			return
		}
	}
}

// backendMutations are wrong in the methods of a backend.
func backendMutations() []randomMutation {
	return []randomMutation{
		{name: "a second OpenEndpoint to an open address is accepted", wrap: func(b netio.Backend) netio.Backend { return eager{b} }},
		{name: "a listen endpoint does not close", wrap: func(b netio.Backend) netio.Backend { return attentive{b} }},
		{name: "the statistics count a message less", wrap: func(b netio.Backend) netio.Backend { return forgetful{b} }},
		{name: "a whole backend does not close", faults: faults{closeAll: func(*broken) error { return nil }}},
	}
}

type eager struct{ netio.Backend }

func (b eager) OpenEndpoint(addr netip.AddrPort, p netio.Params) error {
	if err := b.Backend.OpenEndpoint(addr, p); !errors.Is(err, netio.ErrEndpointExists) {
		return err
	}
	return nil
}

type attentive struct{ netio.Backend }

func (b attentive) OpenListenEndpoint(addr netip.AddrPort, p netio.Params) (netio.ListenEndpoint, error) {
	l, err := b.Backend.OpenListenEndpoint(addr, p)
	return attentiveListener{l}, err
}

type attentiveListener struct{ netio.ListenEndpoint }

func (attentiveListener) Close() error { return nil }

type forgetful struct{ netio.Backend }

func (b forgetful) Stats() netio.Stats {
	s := b.Backend.Stats()
	s.MessagesReceived -= min(1, s.MessagesReceived)
	return s
}

// suite is that of the mutation on a loop.
func (m randomMutation) suite(l *memnet.Loop) netiotest.Suite {
	s := brokenSuite(m.faults, l)
	if open := s.Open; m.wrap != nil {
		s.Open = func(t netiotest.TB, cfg netio.Config, h netio.Handler) netio.Backend {
			t.Helper()
			return m.wrap(open(t, cfg, h))
		}
	}
	return s
}

func TestRandomRunNoticesBrokenBackends(t *testing.T) {
	setFlag(t, "rapid.nofailfile", "true") // the run that fails is not one to keep
	setFlag(t, "rapid.checks", "3000")     // it ends with the first that fails
	setFlag(t, "rapid.shrinktime", "0")
	for _, tt := range newRandomMutations() {
		t.Run(tt.name, func(t *testing.T) {
			if testkit.Race && tt.unseen {
				t.Skip("a race build cannot see whether memory has gone")
			}
			if fake := runRandomly(t, tt); !fake.Failed() {
				t.Errorf("random run: got no failure, want one")
			} else {
				t.Logf("noticed: %s", fake.failures[0])
			}
		})
	}
}

// setFlag sets a flag for the time of the test.
func setFlag(t *testing.T, name, value string) {
	t.Helper()
	before := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatalf("set -%s: got error %v, want none", name, err)
	}
	t.Cleanup(func() { _ = flag.Set(name, before) })
}

// TestRandomRunAcceptsTheSameBackendUnbroken shows that it is the mutation that
// the runs above notice.
func TestRandomRunAcceptsTheSameBackendUnbroken(t *testing.T) {
	if fake := runRandomly(t, randomMutation{}); fake.Failed() {
		t.Errorf("random run: got failures %q, want none", fake.failures)
	}
}

// runRandomly runs walks in a bubble, where the patience costs nothing.
func runRandomly(t *testing.T, m randomMutation) (fake *fakeTB) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		l := memnet.NewLoop()
		defer l.Close()
		fake = runFake(func(fake *fakeTB) { netiotest.RandomRunTB(fake, m.suite(l)) })
	})
	return fake
}
