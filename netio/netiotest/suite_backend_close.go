// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"errors"
	"io"
	"net/netip"
	"slices"
	"sync"

	"tagbus/internal/goroutine"
	"tagbus/netio"
)

// backendCloseChecks are about Backend.Close.
var backendCloseChecks = []check{
	{"closing a backend closes everything and nothing follows", checkBackendClose},
	{"a backend may be closed inside every callback", checkBackendCloseInside},
	{"closing a backend ends what is being opened", checkBackendCloseDial},
	{"a backend may be closed by several at once", checkBackendCloseTogether},
	{"a close on the loop of another backend does not wait", checkBackendCloseOnAnother},
	{"a backend may be closed under load", checkBackendCloseLoad},
	{"a backend may be closed after its loop", checkBackendCloseAfterLoop},
	{"the methods of a closed backend return ErrClosed", checkBackendClosedMethods},
	{"the peers of a closed backend see the end", checkBackendClosePeers},
}

// closeBackend closes x and checks that all has been reported.
func (x *side) closeBackend(t TB) {
	t.Helper()
	if err := x.b.Close(); err != nil {
		t.Errorf("%s: Backend.Close: got error %v, want none", x.name, err)
	}
	x.finish(t)
}

func checkBackendClose(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.choke(t)
	p.client.closeBackend(t)
	p.client.locked(func() {
		if p.opened.cause != nil {
			t.Errorf("cause after a local Close: got %v, want nil", p.opened.cause)
		}
		if len(p.opened.cancelled) == 0 {
			t.Errorf("keys of OnConnectionClosed of a full connection: got none, want those outstanding")
		}
	})
	if err := p.client.b.Close(); err != nil {
		t.Errorf("second Backend.Close: got error %v, want none", err)
	}
	p.server.resume(t, p.accepted)
	p.accepted.waitClosed(t)
	p.server.closeBackend(t)
	checkReceived(t, p.opened, p.accepted, true)
}

func checkBackendCloseInside(t TB, s Suite) {
	for _, callback := range []string{"OnConnectionEstablished", "OnConnectionRefused", "OnData", "OnSendCompleted", "OnSendReady", "OnConnectionClosed"} {
		p := connectPair(t, s, nil)
		returned := make(chan struct{})
		var once sync.Once
		closeHere := func(from string) {
			if from != callback {
				return
			}
			once.Do(func() {
				if err := p.client.b.Close(); err != nil {
					t.Errorf("Backend.Close inside %s: got error %v, want none", callback, err)
				}
				close(returned)
			})
		}
		p.client.hook(hooks{
			established: func(*end) { closeHere("OnConnectionEstablished") },
			refused:     func(netip.AddrPort) { closeHere("OnConnectionRefused") },
			data:        func(*end, []byte) { closeHere("OnData") },
			completed:   func(*end, netio.Key) { closeHere("OnSendCompleted") },
			ready:       func(*end) { closeHere("OnSendReady") },
			closed:      func(*end) { closeHere("OnConnectionClosed") },
		})
		p.provoke(t, callback)
		<-returned
		p.client.wait(t, "the end of every connection", func() bool {
			return !slices.ContainsFunc(p.client.ends, func(e *end) bool { return !e.closed })
		})
		p.client.closeBackend(t)
		p.accepted.waitClosed(t)
	}
}

// checkBackendCloseOnAnother closes a backend whose loop is busy, in a callback of the
// other one's: that one may be what the busy loop waits for.
func checkBackendCloseOnAnother(t TB, s Suite) {
	p := connectPair(t, s, nil)
	var loops [2]uint64
	p.client.onLoop(t, func() { loops[0] = goroutine.ID() })
	p.server.onLoop(t, func() { loops[1] = goroutine.ID() })
	if loops[0] == loops[1] {
		return
	}
	busy, free := make(chan struct{}), make(chan struct{})
	defer close(free)
	p.client.b.Loop().Post(func() { close(busy); <-free })
	<-busy
	p.server.onLoop(t, func() {
		if err := p.client.b.Close(); err != nil {
			t.Errorf("Backend.Close on the loop of another backend: got error %v, want none", err)
		}
	})
	free <- struct{}{}
	p.client.closeBackend(t)
	p.accepted.waitClosed(t)
}

// provoke makes a callback of the client happen.
func (p *pair) provoke(t TB, callback string) {
	t.Helper()
	w := p.opened.ways()[len(p.opened.ways())-1]
	switch callback {
	case "OnConnectionEstablished":
		p.client.dial(t, p.server.listen(t, p.s, p.params()).Addr(), p.params())
	case "OnConnectionRefused":
		p.client.dial(t, deadAddr(t, p.s), p.params())
	case "OnData":
		p.accepted.sendAll(t, w, 1, nil, p.server.word)
	case "OnSendCompleted":
		p.opened.sendAll(t, w, 1, nil, p.client.word)
	case "OnSendReady":
		// The callback may come, and close the backend, at any of these.
		p.server.pause(t, p.accepted)
		data := p.memory(t, p.s.MessageBytes/2)
		if w == buffered {
			data = data[:p.s.bufferBytes]
		}
		for !errors.Is(p.opened.send(w, 1, nil, data), netio.ErrNoResources) {
			continue
		}
		p.server.resume(t, p.accepted)
	case "OnConnectionClosed":
		if err := p.opened.ep.Close(); err != nil {
			t.Errorf("Close: got error %v, want none", err)
		}
	}
}

func checkBackendCloseDial(t TB, s Suite) {
	dead := deadAddr(t, s)
	for range Few(20, 5) { // somewhere between the call and the callback
		p := openPair(t, s)
		p.client.dial(t, p.server.listen(t, s, p.params()).Addr(), p.params())
		p.client.dial(t, dead, p.params())
		p.client.closeBackend(t) // and the recorder hears of any later callback
		p.server.closeBackend(t)
	}
}

func checkBackendCloseTogether(t TB, s Suite) {
	p := connectPair(t, s, nil)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := p.client.b.Close(); err != nil {
				t.Errorf("Backend.Close: got error %v, want none", err)
			}
		})
		all.Go(func() {
			if err := p.opened.ep.Close(); err != nil {
				wantError(t, "Close of an endpoint while its backend closes", err, netio.ErrClosed)
			}
		})
	}
	all.Wait()
	p.client.closeBackend(t)
	p.accepted.waitClosed(t)
}

func checkBackendCloseLoad(t TB, s Suite) {
	p := connectPair(t, s, nil)
	data := p.memory(t, 3000)
	var senders sync.WaitGroup
	p.both(func(from, _ *end) {
		for i, w := range from.ways() {
			senders.Go(func() {
				for key := netio.Key(i); ; key += 10 {
					err := from.send(w, key, nil, data)
					if errors.Is(err, netio.ErrNoResources) {
						if problem := from.r.await("OnSendReady", func() bool { return from.ready == from.refusals || from.closed }); problem != "" {
							t.Errorf("%s: %s", from.r.name, problem)
							return
						}
					} else if err != nil {
						wantError(t, "send while the backend closes", err, netio.ErrClosed)
						return
					}
				}
			})
		}
	})
	p.accepted.waitReceived(t, 500)
	p.opened.waitReceived(t, 500)
	p.client.closeBackend(t)
	p.accepted.waitClosed(t)
	senders.Wait()
	p.server.closeBackend(t)
	p.both(func(from, to *end) { checkReceived(t, from, to, true) })
}

func checkBackendCloseAfterLoop(t TB, s Suite) {
	if s.StopLoop == nil {
		t.Skipf("the suite cannot end the loop of this backend")
	}
	for _, load := range []bool{false, true} {
		p := connectPair(t, s, nil)
		if load {
			p.choke(t)
		}
		s.StopLoop(p.client.bare)
		p.client.loopID.Store(0) // now they run wherever Close is called
		if p.client.b.Loop().Post(func() { t.Errorf("a function ran that was posted after the end of the loop") }) {
			t.Errorf("Post after the end of the loop: got true, want false")
		}
		if load {
			p.opened.send(p.opened.ways()[0], 1, nil, p.client.word) //nolint:errcheck // accepted or not, Close tells
		}
		p.client.closeBackend(t)
		p.server.resume(t, p.accepted)
		p.accepted.waitClosed(t)
	}
}

func checkBackendClosedMethods(t TB, s Suite) {
	p := connectPair(t, s, nil)
	var taken *netio.Buffer
	if p.opened.capabilities.Buffered {
		taken = p.client.buffer(t, p.opened)
		if _, err := taken.Write([]byte("mine")); err != nil {
			t.Fatalf("Write: got error %v, want none", err)
		}
	}
	own := p.client.listen(t, s, p.params())
	p.client.closeBackend(t)
	_, err := p.client.b.OpenListenEndpoint(s.ListenAddr, p.params())
	opError(t, "OpenListenEndpoint of a closed backend", err, s.ListenAddr, netio.ErrClosed)
	opError(t, "OpenEndpoint of a closed backend", p.client.b.OpenEndpoint(p.l.Addr(), p.params()), p.l.Addr(), netio.ErrClosed)
	p.checkAllClosed(t, "of a closed backend", p.opened, taken)
	wantError(t, "Close of a listen endpoint of a closed backend", own.Close(), netio.ErrClosed)
	if p.client.b.Name() == "" || p.client.b.Loop() == nil || p.client.b.Stats().Closed != 1 {
		t.Errorf("name, loop and statistics of a closed backend: got %q, %v, %+v, want them to stay",
			p.client.b.Name(), p.client.b.Loop(), p.client.b.Stats())
	}
	if taken != nil {
		p.client.release(taken)
	}
}

func checkBackendClosePeers(t TB, s Suite) {
	for _, swap := range []bool{false, true} {
		p := connectPair(t, s, nil)
		closing, other := p.client, p.accepted
		if swap {
			closing, other = p.server, p.opened
		}
		closing.closeBackend(t)
		wantError(t, other.r.name+": cause after the other backend was closed", other.waitCause(t), io.EOF)
	}
}
