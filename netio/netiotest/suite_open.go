// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"net/netip"
	"syscall"

	"tagbus/netio"
)

// openChecks are about listening and connecting.
var openChecks = []check{
	{"port 0 gives a real port", checkPortZero},
	{"listening twice on an address is refused", checkListenTwice},
	{"an address in use by another backend is refused", checkAddressInUse},
	{"an invalid address is refused", checkInvalidAddress},
	{"invalid params are refused", checkInvalidParams},
	{"a connection that nobody accepts is refused once", checkRefused},
	{"a refused connection may be opened again inside the callback", checkRefusedAgain},
	{"a connection is established once on both sides", checkEstablished},
	{"both ends know both addresses", checkAddresses},
	{"the context is that of the params until it is set", checkContext},
	{"capabilities follow from params and backend", checkCapabilities},
	{"a second endpoint to an address is refused until the first has ended", checkEndpointExists},
	{"another backend may open an endpoint to the same address", checkTwoClients},
	{"one backend has many endpoints", checkManyEndpoints},
	{"the handler is called on the backend's loop", checkLoop},
}

func checkPortZero(t TB, s Suite) {
	p := openPair(t, s)
	first, second := p.server.listen(t, s, p.params()).Addr(), p.server.listen(t, s, p.params()).Addr()
	for _, addr := range []netip.AddrPort{first, second} {
		if addr.Port() == 0 || addr.Addr() != s.ListenAddr.Addr() {
			t.Errorf("Addr: got %v, want a port of %v", addr, s.ListenAddr.Addr())
		}
	}
	if first == second {
		t.Errorf("Addr of two listen endpoints: got %v twice, want two addresses", first)
	}
}

func checkListenTwice(t TB, s Suite) {
	p := openPair(t, s)
	addr := p.server.listen(t, s, p.params()).Addr()
	_, err := p.server.b.OpenListenEndpoint(addr, p.params())
	opError(t, "OpenListenEndpoint of an address that this backend listens on", err, addr, netio.ErrListenEndpointExists)
}

func checkAddressInUse(t TB, s Suite) {
	p := openPair(t, s)
	addr := p.server.listen(t, s, p.params()).Addr()
	_, err := p.client.b.OpenListenEndpoint(addr, p.params())
	opError(t, "OpenListenEndpoint of an address that another backend listens on", err, addr, syscall.EADDRINUSE)
}

func checkInvalidAddress(t TB, s Suite) {
	p := connectPair(t, s, nil)
	_, err := p.server.b.OpenListenEndpoint(netip.AddrPort{}, netio.Params{})
	opError(t, "OpenListenEndpoint of the zero AddrPort", err, netip.AddrPort{}, netio.ErrInvalidAddress)
	for _, addr := range []netip.AddrPort{{}, netip.AddrPortFrom(s.ListenAddr.Addr(), 0)} {
		opError(t, "OpenEndpoint of a useless address", p.client.b.OpenEndpoint(addr, netio.Params{}), addr, netio.ErrInvalidAddress)
	}
	p.fence(t)
	p.client.locked(func() {
		if len(p.client.refused) != 0 {
			t.Errorf("OnConnectionRefused after an error of OpenEndpoint: got %v, want none", p.client.refused)
		}
	})
}

func checkInvalidParams(t TB, s Suite) {
	p := openPair(t, s)
	bad := netio.Params{
		Receive:  netio.ReceiveParams{MaxMessageBytes: -1},
		Buffered: netio.BufferedParams{Buffers: -1},
	}
	_, err := p.server.b.OpenListenEndpoint(s.ListenAddr, bad)
	opError(t, "OpenListenEndpoint with impossible params", err, s.ListenAddr, netio.ErrInvalidParams)
	addr := p.server.listen(t, s, p.params()).Addr()
	opError(t, "OpenEndpoint with impossible params", p.client.b.OpenEndpoint(addr, bad), addr, netio.ErrInvalidParams)
	p.client.dial(t, addr, p.params()) // the failed one has left nothing behind
	p.client.established(t, 0)
}

// deadAddr returns an address without a listener.
func deadAddr(t TB, s Suite) netip.AddrPort {
	t.Helper()
	if s.DeadAddr != nil {
		return s.DeadAddr(t)
	}
	x := openSide(t, s, "dead")
	addr := x.listen(t, s, netio.Params{}).Addr()
	if err := x.b.Close(); err != nil {
		t.Fatalf("Backend.Close: got error %v, want none", err)
	}
	return addr
}

func checkRefused(t TB, s Suite) {
	addr := deadAddr(t, s)
	p := connectPair(t, s, nil)
	p.client.dial(t, addr, p.params())
	got := p.client.waitRefused(t)
	if got.addr != addr {
		t.Errorf("OnConnectionRefused: got address %v, want %v", got.addr, addr)
	}
	opError(t, "OnConnectionRefused", got.err, addr, syscall.ECONNREFUSED)
	p.fence(t)
	p.client.locked(func() {
		if len(p.client.refused) != 1 {
			t.Errorf("OnConnectionRefused: got %d calls, want 1", len(p.client.refused))
		}
	})
	if got := p.client.b.Stats().Refused; got != 1 {
		t.Errorf("Stats.Refused: got %d, want 1", got)
	}
}

func checkRefusedAgain(t TB, s Suite) {
	addr := deadAddr(t, s)
	p := openPair(t, s)
	again := 3
	p.client.hook(hooks{refused: func(addr netip.AddrPort) {
		if again--; again > 0 {
			if err := p.client.b.OpenEndpoint(addr, p.params()); err != nil {
				t.Errorf("OpenEndpoint inside OnConnectionRefused: got error %v, want none", err)
			}
		}
	}})
	p.client.dial(t, addr, p.params())
	for range 3 {
		p.client.waitRefused(t)
	}
}

func checkEstablished(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.accepted.sendAll(t, p.accepted.ways()[0], 1, nil, p.memory(t, 10))
	p.opened.waitReceived(t, 1)
	for _, x := range []*side{p.server, p.client} {
		if n := x.count(); n != 1 {
			t.Errorf("%s: got %d connections, want 1", x.name, n)
		}
	}
	server, client := p.server.b.Stats(), p.client.b.Stats()
	if server.Accepted != 1 || server.Opened != 0 || client.Accepted != 0 || client.Opened != 1 {
		t.Errorf("Stats of the server: got %d accepted and %d opened, want 1 and 0; of the client: got %d and %d, want 0 and 1",
			server.Accepted, server.Opened, client.Accepted, client.Opened)
	}
}

func checkAddresses(t TB, s Suite) {
	p := connectPair(t, s, nil)
	if got, want := p.opened.ep.Remote(), p.l.Addr(); got != want {
		t.Errorf("client: Remote: got %v, want the address given to OpenEndpoint, %v", got, want)
	}
	if got, want := p.accepted.ep.Local(), p.l.Addr(); got != want {
		t.Errorf("server: Local: got %v, want the address of the listen endpoint, %v", got, want)
	}
	for _, end := range []*end{p.opened, p.accepted} {
		if got, want := end.ep.Backend(), p.server.b.Name(); got != want {
			t.Errorf("Backend: got %q, want the name of the backend, %q", got, want)
		}
	}
	if got, want := p.opened.ep.Local(), p.accepted.ep.Remote(); got != want || got.Port() == 0 {
		t.Errorf("client: Local: got %v, want the Remote of the server, %v", got, want)
	}
}

func checkContext(t TB, s Suite) {
	p := connectPair(t, s, func(server, client *netio.Params) {
		server.Context, client.Context = "of the server", "of the client"
	})
	for _, x := range []struct {
		*side
		e    *end
		want string
	}{{p.server, p.accepted, "of the server"}, {p.client, p.opened, "of the client"}} {
		if x.e.context != x.want {
			t.Errorf("%s: Context when established: got %v, want %q", x.name, x.e.context, x.want)
		}
		x.onLoop(t, func() { x.e.ep.SetContext(17) })
		x.onLoop(t, func() {
			if got := x.e.ep.Context(); got != 17 {
				t.Errorf("%s: Context after SetContext(17): got %v, want 17", x.name, got)
			}
		})
	}
}

func checkCapabilities(t TB, s Suite) {
	p := connectPair(t, s, nil)
	for _, e := range []*end{p.accepted, p.opened} {
		if e.capabilities != s.Capabilities {
			t.Errorf("%s: Capabilities: got %+v, want %+v", e.r.name, e.capabilities, s.Capabilities)
		}
	}
	if len(p.opened.ways()) == 0 {
		t.Errorf("Capabilities: got no way to send, want one")
	}
	s.Config.SharedSend = netio.SharedBuffers{} // with which there are always buffers
	p = connectPair(t, s, func(server, _ *netio.Params) { server.Buffered = netio.BufferedParams{} })
	if p.accepted.capabilities.Buffered {
		t.Errorf("Capabilities without buffers: got Buffered, want not")
	}
	_, err := p.accepted.ep.Buffer()
	wantError(t, "Buffer without buffers", err, netio.ErrNotSupported)
	if !s.Capabilities.ZeroCopy {
		wantError(t, "Send without zero-copy", p.opened.ep.Send(1, nil, p.memory(t, 1)), netio.ErrNotSupported)
	}
	if !s.Capabilities.Immediate {
		wantError(t, "SendCopy without immediate", p.opened.ep.SendCopy(1, nil, p.memory(t, 1)), netio.ErrNotSupported)
	}
}
