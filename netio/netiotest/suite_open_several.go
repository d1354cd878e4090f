// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"slices"
	"time"

	"tagbus/netio"
)

func checkEndpointExists(t TB, s Suite) {
	p := openPair(t, s)
	p.l = p.server.listen(t, s, p.params())
	addr := p.l.Addr()
	p.client.dial(t, addr, p.params())
	opError(t, "OpenEndpoint while one is being opened", p.client.b.OpenEndpoint(addr, p.params()), addr, netio.ErrEndpointExists)
	first := p.client.established(t, 0)
	opError(t, "OpenEndpoint while one is open", p.client.b.OpenEndpoint(addr, p.params()), addr, netio.ErrEndpointExists)
	p.client.hook(hooks{closed: func(e *end) {
		if err := p.client.b.OpenEndpoint(e.ep.Remote(), p.params()); e == first && err != nil {
			t.Errorf("OpenEndpoint inside OnConnectionClosed: got error %v, want none", err)
		}
	}})
	if err := first.ep.Close(); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
	p.client.established(t, 1)
	p.client.hook(hooks{})
}

func checkTwoClients(t TB, s Suite) {
	p := connectPair(t, s, nil)
	other := openSide(t, s, "other client")
	other.dial(t, p.l.Addr(), p.params())
	e := other.established(t, 0)
	e.sendAll(t, e.ways()[0], 1, nil, p.memory(t, 100))
	accepted := p.server.established(t, 1)
	accepted.waitReceived(t, 1)
	checkReceived(t, e, accepted, false)
	p.server.locked(func() {
		if n := len(p.accepted.received); n != 0 {
			t.Errorf("the other connection: got %d messages, want 0", n)
		}
	})
}

func checkManyEndpoints(t TB, s Suite) {
	s = s.sendBuffers(1, s.bufferBytes)
	s.ReceiveBuffers = min(s.ReceiveBuffers, 1)
	p := openPair(t, s)
	params := p.params()
	params.Receive.MaxMessageBytes = 1 << 10 // so that they are not many bytes
	params.ConnectTimeout = time.Minute      // some providers take half a second of the loop for each on a busy machine
	for range s.Endpoints {
		p.client.dial(t, p.server.listen(t, s, params).Addr(), params)
	}
	var opened, accepted []*end
	for i := range s.Endpoints {
		opened = append(opened, p.client.established(t, i))
		accepted = append(accepted, p.server.established(t, i))
	}
	for i, e := range append(slices.Clone(opened), accepted...) {
		e.sendAll(t, e.ways()[0], netio.Key(i), nil, p.memory(t, 1+i%1000))
	}
	for _, c := range opened {
		i := slices.IndexFunc(accepted, func(a *end) bool {
			return a.ep.Remote() == c.ep.Local() && a.ep.Local() == c.ep.Remote()
		})
		if i < 0 {
			t.Fatalf("the client has a connection from %v, and the server has none to it", c.ep.Local())
		}
		for _, hop := range [][2]*end{{c, accepted[i]}, {accepted[i], c}} {
			hop[1].waitReceived(t, 1)
			checkReceived(t, hop[0], hop[1], false)
		}
	}
}

func checkLoop(t TB, s Suite) {
	p := connectPair(t, s, nil) // the recorder compares the goroutines
	if p.server.b.Name() == "" || p.server.b.Name() != p.client.b.Name() {
		t.Errorf("Name: got %q and %q, want one name for both ends", p.server.b.Name(), p.client.b.Name())
	}
	for _, hop := range [][2]*end{{p.opened, p.accepted}, {p.accepted, p.opened}} {
		hop[0].sendAll(t, hop[0].ways()[0], 1, nil, p.memory(t, 1))
		hop[1].waitReceived(t, 1)
		hop[0].waitIdle(t)
	}
	if err := p.opened.ep.Close(); err != nil {
		t.Errorf("Close: got error %v, want none", err)
	}
	p.opened.waitClosed(t)
	p.accepted.waitClosed(t)
}
