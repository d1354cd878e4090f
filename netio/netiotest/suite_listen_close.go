// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"io"

	"tagbus/netio"
)

// listenCloseChecks are about the end of a listen endpoint.
var listenCloseChecks = []check{
	{"closing a listen endpoint closes what it accepted", checkListenClose},
	{"a listen endpoint may be closed inside a callback", checkListenCloseInside},
	{"a closed listen endpoint frees its address", checkListenAgain},
}

func checkListenClose(t TB, s Suite) {
	p := connectPair(t, s, nil)
	other := openSide(t, s, "other client")
	other.dial(t, p.l.Addr(), p.params())
	ends := []*end{other.established(t, 0), p.opened, p.accepted, p.server.established(t, 1)}
	own := p.client.listen(t, s, p.params()) // and a connection that stays
	p.server.dial(t, own.Addr(), p.params())
	kept := p.server.established(t, 2)
	if err := p.l.Close(); err != nil {
		t.Errorf("ListenEndpoint.Close: got error %v, want none", err)
	}
	wantError(t, "second ListenEndpoint.Close", p.l.Close(), netio.ErrClosed)
	for i, e := range ends {
		cause := e.waitCause(t)
		if want := []error{io.EOF, io.EOF, nil, nil}[i]; cause != want { //nolint:errorlint // io.EOF is promised unwrapped
			t.Errorf("cause at end %d after the listen endpoint was closed: got %v, want %v", i, cause, want)
		}
	}
	p.server.onLoop(t, func() {})
	p.client.dial(t, p.l.Addr(), p.params())
	p.client.waitRefused(t)
	kept.sendAll(t, kept.ways()[0], 1, nil, p.memory(t, 10))
	p.client.established(t, 1).waitReceived(t, 1)
}

func checkListenCloseInside(t TB, s Suite) {
	p := connectPair(t, s, nil)
	p.server.hook(hooks{data: func(*end, []byte) {
		if err := p.l.Close(); err != nil {
			t.Errorf("ListenEndpoint.Close inside OnData: got error %v, want none", err)
		}
	}})
	p.sendSmall(t, 1)
	p.accepted.waitClosed(t)
	p.opened.waitClosed(t)
	p.server.hook(hooks{})
	p.fence(t)
}

func checkListenAgain(t TB, s Suite) {
	p := connectPair(t, s, nil)
	addr := p.l.Addr()
	if err := p.l.Close(); err != nil {
		t.Fatalf("ListenEndpoint.Close: got error %v, want none", err)
	}
	p.accepted.waitClosed(t)
	p.opened.waitClosed(t)
	p.server.onLoop(t, func() {})
	l, err := p.server.b.OpenListenEndpoint(addr, p.params())
	if err != nil {
		t.Fatalf("OpenListenEndpoint of an address that is free again: got error %v, want none", err)
	}
	p.client.dial(t, l.Addr(), p.params())
	p.client.established(t, 1)
}
