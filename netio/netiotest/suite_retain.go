// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"bytes"
	"math/rand/v2"
	"sync"

	"tagbus/internal/invariants"
	"tagbus/netio"
)

// retainChecks are about messages that are kept beyond OnData.
var retainChecks = []check{
	{"retained data is unchanged until it is released", checkRetain},
	{"every message may be retained", checkRetainAll},
	{"retained data outlives its endpoint and its backend", checkRetainClosed},
	{"a message may be retained twice and inside a close", checkRetainTwice},
	{"data that is released inside OnData is valid until OnData returns", checkRetainInside},
	{"Retain outside OnData is refused", checkRetainOutside},
	{"without the capability Retain is refused", checkRetainRefused},
	{"retained data is overwritten after its release in a build with invariants", checkRetainPoison},
}

// keeper retains messages of an endpoint.
type keeper struct {
	t    TB
	mu   sync.Mutex
	held []keep
}

// keep is one retained message.
type keep struct {
	retained   netio.Retained
	data, want []byte
}

// retains skips the test unless the server's endpoint of p can retain.
func (p *pair) retains(t TB) *keeper {
	t.Helper()
	if !p.accepted.capabilities.Retain {
		t.Skipf("endpoints with these receive buffers do not retain")
	}
	return &keeper{t: t}
}

// take retains data, inside OnData. It reports whether there was memory for that.
func (k *keeper) take(e *end, data []byte) bool {
	r, err := e.ep.Retain()
	if err != nil {
		wantError(k.t, "Retain inside OnData", err, netio.ErrNoResources)
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held = append(k.held, keep{r, data, bytes.Clone(data)})
	return true
}

// count returns how many messages are held.
func (k *keeper) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.held)
}

// check fails the test unless all that is held is as it was received, and its
// memory is as large as told.
func (k *keeper) check() {
	k.mu.Lock()
	defer k.mu.Unlock()
	sizes := map[netio.Retained]int{}
	for i, h := range k.held {
		if !bytes.Equal(h.data, h.want) {
			k.t.Errorf("retained message %d of %d bytes: got %s, want %s", i, len(h.want), shortBytes(h.data), shortBytes(h.want))
		}
		sizes[h.retained] += len(h.want)
	}
	for r, size := range sizes {
		if got := r.Bytes(); got < size {
			k.t.Errorf("Retained.Bytes: got %d, want at least the %d of its messages", got, size)
		}
	}
}

// release gives back all but every nth, in any order, from several goroutines.
// 0: all.
func (k *keeper) release(but int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	rand.Shuffle(len(k.held), func(i, j int) { k.held[i], k.held[j] = k.held[j], k.held[i] })
	stay := 0
	if but > 0 {
		stay = len(k.held) / but
	}
	var all sync.WaitGroup
	for part := range 4 {
		all.Go(func() {
			for i := stay + part; i < len(k.held); i += 4 {
				k.held[i].retained.Release()
			}
		})
	}
	all.Wait()
	k.held = k.held[:stay]
}

// sendSizes sends n messages of 1 to most bytes from the client.
func (p *pair) sendSizes(t TB, n, most int) {
	t.Helper()
	data := p.memory(t, most)
	for i := range n {
		w := p.opened.ways()[i%len(p.opened.ways())]
		size := 1 + i*i*977%most
		if w == buffered {
			size = min(size, p.s.bufferBytes)
		}
		p.opened.sendAll(t, w, netio.Key(i), nil, data[most-size:])
	}
}

func checkRetain(t TB, s Suite) {
	p := connectPair(t, s, nil)
	k := p.retains(t)
	p.server.hook(hooks{data: func(e *end, data []byte) {
		if len(e.received)%3 == 0 {
			k.take(e, data)
		}
	}})
	want := 0
	for _, most := range []int{50, 5000, 100_000} {
		for range 2 {
			p.sendSizes(t, 30, most)
			want += 30
			p.accepted.waitReceived(t, want)
			p.server.onLoop(t, func() {}) // the hook has run
			k.check()
			k.release(3)
		}
	}
	p.unhook(t)
	k.check()
	k.release(0)
	p.opened.waitIdle(t)
	checkReceived(t, p.opened, p.accepted, false)
}

func checkRetainAll(t TB, s Suite) {
	p := connectPair(t, s, nil)
	k := p.retains(t)
	kept := 0
	p.server.hook(hooks{data: func(e *end, data []byte) {
		if k.take(e, data) {
			p.server.locked(func() { kept++ })
		}
	}})
	p.sendSizes(t, 1000, 100)
	p.sendSizes(t, 40, 60_000)
	p.accepted.waitReceived(t, 1040)
	p.unhook(t)
	if kept == 0 {
		t.Errorf("Retain: got only %v, want some messages retained", netio.ErrNoResources)
	}
	k.check()
	k.release(0)
	p.opened.waitIdle(t)
	checkReceived(t, p.opened, p.accepted, false)
}

func checkRetainClosed(t TB, s Suite) {
	p := connectPair(t, s, nil)
	k := p.retains(t)
	p.server.hook(hooks{data: func(e *end, data []byte) { k.take(e, data) }})
	p.sendSizes(t, 30, 20_000)
	p.accepted.waitReceived(t, 30)
	p.unhook(t)
	p.close(t, p.accepted)
	k.check()
	k.release(2)
	p.client.closeBackend(t)
	p.server.closeBackend(t)
	k.check()
	k.release(0)
}

func checkRetainTwice(t TB, s Suite) {
	p := connectPair(t, s, nil)
	k := p.retains(t)
	p.server.hook(hooks{data: func(e *end, data []byte) {
		k.take(e, data)
		e.closeHere(t)
		k.take(e, data)
	}})
	p.sendSizes(t, 1, 3000)
	p.accepted.waitClosed(t)
	p.unhook(t)
	if k.count() == 2 && k.held[0].retained != k.held[1].retained {
		t.Errorf("Retain of one message: got two different Retained, want the same")
	}
	if k.count() > 0 {
		k.held[0].retained.Release()
		k.held = k.held[1:]
	}
	k.check()
	k.release(0)
}

func checkRetainInside(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.retains(t)
	p.server.hook(hooks{data: func(e *end, data []byte) {
		for range 2 {
			if r, err := e.ep.Retain(); err == nil {
				r.Release()
			}
		}
		if want := e.received[len(e.received)-1]; !bytes.Equal(data, want) {
			t.Errorf("data after a release inside OnData: got %s, want %s", shortBytes(data), shortBytes(want))
		}
	}})
	p.sendSizes(t, 50, 100_000)
	p.accepted.waitReceived(t, 50)
	p.unhook(t)
	p.opened.waitIdle(t)
	checkReceived(t, p.opened, p.accepted, false)
}

func checkRetainOutside(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.retains(t)
	refused := func(when string) {
		p.server.onLoop(t, func() {
			if _, err := p.accepted.ep.Retain(); err != nil {
				wantError(t, when, err, netio.ErrNoMessage)
				return
			}
			t.Errorf("%s: got no error, want %v", when, netio.ErrNoMessage)
		})
	}
	refused("Retain before the first message")
	p.sendSizes(t, 1, 100)
	p.accepted.waitReceived(t, 1)
	refused("Retain after OnData")
}

func checkRetainRefused(t TB, s Suite) {
	p := connectPair(t, s, nil)
	if p.accepted.capabilities.Retain {
		t.Skipf("the endpoint can retain")
	}
	p.server.hook(hooks{data: func(e *end, _ []byte) {
		_, err := e.ep.Retain()
		wantError(t, "Retain", err, netio.ErrNotSupported)
	}})
	p.sendSizes(t, 20, 5000)
	p.accepted.waitReceived(t, 20)
	p.unhook(t)
	p.opened.waitIdle(t)
	checkReceived(t, p.opened, p.accepted, false)
}

func checkRetainPoison(t TB, s Suite) {
	s.violations(t)
	p := connectPair(t, s, nil)
	k := p.retains(t)
	p.server.hook(hooks{data: func(e *end, data []byte) {
		if len(data) > len(p.server.word) {
			k.take(e, data)
		}
	}})
	w := p.opened.ways()[len(p.opened.ways())-1]
	for i, size := range []int{1000, 4000, s.scaled(300 << 10)} {
		if w == buffered {
			size = min(size, s.bufferBytes)
		}
		p.opened.sendAll(t, w, 1, nil, p.memory(t, size))
		p.accepted.waitReceived(t, 2*i+1)
		p.server.onLoop(t, func() {}) // the hook has run
		k.check()
		if k.count() == 0 {
			t.Fatalf("Retain: got %v, want a message retained", netio.ErrNoResources)
		}
		data := k.held[0].data
		k.release(0)
		p.opened.sendAll(t, w, 1, nil, p.client.word) // which may be put at its beginning
		p.accepted.waitReceived(t, 2*i+2)
		p.server.onLoop(t, func() {
			if late := data[size/2:]; !invariants.Poisoned(late) {
				t.Errorf("%d bytes after their release: got %s, want them overwritten", size, shortBytes(late))
			}
		})
	}
	p.unhook(t)
}
