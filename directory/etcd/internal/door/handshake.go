// SPDX-License-Identifier: Apache-2.0

package door

import (
	"context"
	"crypto/tls"
	"net"
	"runtime"
)

// share is the part of the processors that handshakes may use at once. Any stranger can begin
// one, for which this side computes more than the stranger.
const share = 4

// curves are those of netio/tcp: a stranger chooses among them, and the larger ones of NIST cost many
// times as much.
var curves = []tls.CurveID{tls.X25519MLKEM768, tls.X25519, tls.CurveP256}

func newPlaces() chan struct{} { return make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/share)) }

// handshake makes the handshake of TLS with a connection, and completes it.
func (d *Door) handshake(c *conn) (*desk, error) {
	paced := &paced{Conn: c.raw, places: d.places, ended: c.ended}
	defer paced.finish()
	secure := tls.Server(paced, d.tls)
	ctx, cancel := context.WithTimeout(context.Background(), greeting)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	state := secure.ConnectionState()
	peer, err := d.config.Identity.Verify(state.PeerCertificates, usage)
	if err != nil {
		return nil, err
	}
	c.mutex.Lock()
	c.Conn, c.peer = secure, peer
	c.mutex.Unlock()
	from := c.raw.RemoteAddr()
	at := home{who: peer.Principal}
	c.address = c.addr(&certified{who: peer.Principal, from: from, roster: d.config.Roster}, at)
	d.mutex.Lock()
	d.seats.move(c, at)
	d.mutex.Unlock()
	if state.NegotiatedProtocol == "h2" {
		return d.rpc, nil
	}
	return d.http, nil
}

// paced is a connection during its handshake. What is computed has a place, which it leaves while
// it waits for the peer: one that is slow, or silent, takes none.
//
// Threads: that of the handshake, until finish.
type paced struct {
	net.Conn
	places   chan struct{}
	ended    <-chan struct{} // nothing is to be computed any more
	held     bool            // a place
	finished bool
}

// Read implements net.Conn.
func (p *paced) Read(to []byte) (n int, err error) {
	if p.finished {
		return p.Conn.Read(to)
	}
	p.leave()
	if n, err = p.Conn.Read(to); err != nil {
		return n, err
	}
	return n, p.enter()
}

// Write implements net.Conn.
func (p *paced) Write(from []byte) (n int, err error) {
	if p.finished {
		return p.Conn.Write(from)
	}
	p.leave()
	if n, err = p.Conn.Write(from); err != nil {
		return n, err
	}
	return n, p.enter()
}

// enter waits for a place.
func (p *paced) enter() error {
	select {
	case p.places <- struct{}{}:
		p.held = true
		return nil
	case <-p.ended:
		return net.ErrClosed
	}
}

// leave gives the place back.
func (p *paced) leave() {
	if p.held {
		p.held = false
		<-p.places
	}
}

// finish ends the handshake.
func (p *paced) finish() {
	p.leave()
	p.finished = true
}
