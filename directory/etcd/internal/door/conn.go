// SPDX-License-Identifier: Apache-2.0

package door

import (
	"crypto/x509"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"tagbus/directory/etcd/internal/guard"
	"tagbus/directory/etcd/internal/held"
	"tagbus/identity"
)

// usage is what the certificate of a caller must be meant for.
const usage = x509.ExtKeyUsageClientAuth

// conn is a connection with its caller.
type conn struct {
	net.Conn

	door    *Door
	raw     net.Conn // without TLS
	address *guard.Addr
	read    io.Reader // what was read of it before; nil: nothing
	meter   *meter    // nil: it is none of gRPC

	home  home         // with the mutex of the door
	said  atomic.Int64 // when it last said something
	ended chan struct{}
	once  sync.Once // of ended

	mutex sync.Mutex // of Conn and peer, until the connection is handed on
	peer  *identity.Peer
}

// RemoteAddr returns a *guard.Addr.
func (c *conn) RemoteAddr() net.Addr { return c.address }

// addr returns the address of a connection whose caller is known.
func (c *conn) addr(caller guard.Caller, at home) *guard.Addr {
	return &guard.Addr{Addr: c.raw.RemoteAddr(), Caller: caller, Conn: &held.Conn{Caller: at, Ended: c.ended, Cut: c.cut}}
}

// Read reads, and waits for room for the requests that come.
func (c *conn) Read(to []byte) (n int, err error) {
	defer c.speaks()
	if c.read != nil {
		n, err = c.read.Read(to)
	} else {
		n, err = c.Conn.Read(to)
	}
	if c.meter != nil && n > 0 {
		if full := c.meter.receives(to[:n]); full != nil {
			return 0, full
		}
	}
	return n, err
}

// Write writes.
func (c *conn) Write(b []byte) (int, error) {
	if c.meter != nil {
		c.meter.sends(b)
	}
	return c.Conn.Write(b)
}

// lifeOf is the context of a connection, which ends with it.
type lifeOf struct{ *held.Conn }

// Deadline implements context.Context.
func (lifeOf) Deadline() (at time.Time, ok bool) { return at, false }

// Done implements context.Context.
func (l lifeOf) Done() <-chan struct{} { return l.Ended }

// Err implements context.Context.
func (l lifeOf) Err() error {
	select {
	case <-l.Ended:
		return net.ErrClosed
	default:
		return nil
	}
}

// Value implements context.Context.
func (lifeOf) Value(any) any { return nil }

// Close ends the connection, and gives its seat back.
func (c *conn) Close() error {
	c.door.mutex.Lock()
	c.door.seats.leave(c)
	c.door.mutex.Unlock()
	return c.end()
}

// end ends the connection, in the order of TLS if there is one. What uses it fails, and closes it.
func (c *conn) end() error {
	c.once.Do(func() { close(c.ended) })
	c.mutex.Lock()
	to := c.Conn
	c.mutex.Unlock()
	return to.Close()
}

// cut is end without a word to the peer, for which nothing waits.
func (c *conn) cut() {
	c.once.Do(func() { close(c.ended) })
	_ = c.raw.Close()
}

// desk is a listener whose connections a door puts there.
type desk struct {
	door   *Door
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newDesk(d *Door) *desk {
	return &desk{door: d, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// put hands a connection on, and reports whether it was taken. A server that is not ready takes none,
// as in a member without a quorum, and the client has given up by then.
func (s *desk) put(c net.Conn) bool {
	patience := time.NewTimer(greeting)
	defer patience.Stop()
	select {
	case s.conns <- c:
		return true
	case <-patience.C:
	case <-s.closed:
	case <-s.door.quit:
	}
	return false
}

// Accept implements net.Listener.
func (s *desk) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.closed:
	case <-s.door.quit:
	}
	return nil, net.ErrClosed
}

// Close implements net.Listener. The door stays open.
func (s *desk) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// Addr implements net.Listener.
func (s *desk) Addr() net.Addr { return s.door.config.Listener.Addr() }
