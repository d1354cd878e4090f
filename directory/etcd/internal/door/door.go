// SPDX-License-Identifier: Apache-2.0

// Package door finds out which caller is at the other end of a connection to a member. It
// listens at a port, makes the handshake of TLS, and hands connections on with their callers.
//
// With certificates a caller is what its certificate says (package identity), and its Rank
// follows from its names. Without them it is anonymous: the Rank follows from the user whose
// process has the other end, as /proc/net/tcp names it, if that is on this host, and otherwise
// from the address.
//
// A connection of gRPC is read as far as there is room for the requests that it brings (meter).
package door

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"tagbus/directory/etcd/internal/guard"
	"tagbus/directory/etcd/internal/held"
	"tagbus/identity"
)

const (
	// greeting is how long a connection may take to say what it is: its handshake, or its
	// first bytes.
	greeting = 5 * time.Second

	// maxGreeting is how many connections say so at once. Beyond it the oldest one is closed of the
	// address with most of them.
	maxGreeting = 512

	// lookEvery is how often the certificates of standing connections are looked at again.
	lookEvery = 10 * time.Second
)

// Config describes a door.
type Config struct {
	Listener net.Listener    // the port
	Identity *identity.Store // nil: without TLS
	Roster   *Roster
	Split    bool // HTTP/2 goes to RPC, and all else to HTTP; false: all goes to HTTP
	Most     int  // connections at once; beyond it one of the caller with most of them is closed

	// Refusal returns why a caller is not let in, which it is told as an answer of HTTP, and
	// then gives its place back; empty: it is let in. nil: all are.
	Refusal func(guard.Caller) string
}

// Door hands on connections. Open makes one; close it.
//
// Threads: any.
type Door struct {
	RPC, HTTP net.Listener // whose Accept returns connections with a *guard.Addr as RemoteAddr

	config    Config
	tls       *tls.Config
	rpc, http *desk
	places    chan struct{} // as many elements as handshakes compute
	requests  held.Answers  // what is held of those that have no answer, as if they were answers
	quit      chan struct{}
	running   sync.WaitGroup

	mutex    sync.Mutex
	closed   bool
	seats    seats
	greeting []*conn // the oldest first
}

// Open returns a door that serves until Close.
func Open(c Config) (*Door, error) {
	d := &Door{config: c, requests: held.Answers{Bounds: requestBounds}, places: newPlaces(), quit: make(chan struct{})}
	d.rpc, d.http = newDesk(d), newDesk(d)
	d.RPC, d.HTTP = d.rpc, d.http
	if c.Identity != nil {
		config, err := c.Identity.Server()
		if err != nil {
			return nil, err
		}
		config.NextProtos = []string{"http/1.1"}
		if c.Split {
			config.NextProtos = []string{"h2", "http/1.1"}
		}
		config.CurvePreferences = curves
		d.tls = config
		d.running.Go(d.sweep)
	}
	d.running.Go(d.accept)
	return d, nil
}

// Close stops listening and ends all connections. Idempotent. Errors: of the system.
func (d *Door) Close() error {
	d.mutex.Lock()
	if d.closed {
		d.mutex.Unlock()
		return nil
	}
	d.closed = true
	close(d.quit)
	conns := d.seats.all
	d.seats = seats{}
	d.mutex.Unlock()
	err := d.config.Listener.Close()
	for c := range conns {
		_ = c.end()
	}
	d.running.Wait()
	return err
}

// accept takes connections until the door is closed.
func (d *Door) accept() {
	for {
		raw, err := d.config.Listener.Accept()
		if err != nil {
			select {
			case <-d.quit:
				return
			case <-time.After(50 * time.Millisecond): // no descriptors, most of the time
				continue
			}
		}
		c := &conn{Conn: raw, raw: raw, door: d, home: home{network: networkOf(raw.RemoteAddr())}, ended: make(chan struct{})}
		c.speaks()
		if !d.admit(c) {
			_ = c.Close()
			return
		}
		d.running.Go(func() { d.greet(c, raw) })
	}
}

// admit notes a connection that has said nothing yet, and reports whether the door is open. Where
// there are too many, another one gives way.
func (d *Door) admit(c *conn) bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.closed {
		return false
	}
	if d.seats.take(c); len(d.seats.all) > d.config.Most {
		d.seats.way().cut()
	}
	if d.greeting = append(d.greeting, c); len(d.greeting) > maxGreeting {
		way := silent(d.greeting)
		way.cut() // greet ends
		d.forget(way)
	}
	return true
}

// greeted notes that a connection has said what it is.
func (d *Door) greeted(c *conn) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.forget(c)
}

// forget forgets that a connection has said nothing yet. mutex is held.
func (d *Door) forget(c *conn) {
	if i := slices.Index(d.greeting, c); i >= 0 {
		d.greeting = slices.Delete(d.greeting, i, i+1)
	}
}

// greet finds out what a connection is, and hands it on.
func (d *Door) greet(c *conn, raw net.Conn) {
	to, err := d.identify(c, raw)
	if err == nil && d.config.Refusal != nil {
		if why := d.config.Refusal(c.address.Caller); why != "" {
			d.refuse(c, why)
			err = errRefused
		}
	}
	d.greeted(c)
	if err == nil {
		err = raw.SetDeadline(time.Time{})
	}
	if to == d.rpc {
		c.meter = newMeter(&d.requests, c.address.Conn)
	}
	if err != nil || !to.put(c) {
		_ = c.Close()
	}
}

// errPlain is for a connection that begins as TLS does at a port without it.
var errPlain = errors.New("door: the client speaks TLS, and the port does not")

// errRefused is for a caller that is not let in.
var errRefused = errors.New("door: the caller is not let in")

// refuse tells a caller why it is not let in, as the answer to its first request once that has
// begun, since an answer to nothing is none, and takes what it sends meanwhile: bytes that are
// not read would end the connection before the answer.
func (*Door) refuse(c *conn, why string) {
	const most = 64 << 10
	text := "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\nContent-Length: " + strconv.Itoa(len(why)) + "\r\n\r\n" + why
	if _, err := io.CopyN(io.Discard, c, 1); err != nil { // the deadline is that of the greeting
		return
	}
	if _, err := io.WriteString(c, text); err != nil {
		return
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() != nil {
		return
	}
	_ = c.SetReadDeadline(time.Now().Add(farewell))
	_, _ = io.CopyN(io.Discard, c, most)
}

// farewell is how long a caller that is refused may take to read why.
const farewell = time.Second

// identify returns where a connection goes, and completes it.
func (d *Door) identify(c *conn, raw net.Conn) (*desk, error) {
	if err := raw.SetDeadline(time.Now().Add(greeting)); err != nil {
		return nil, err
	}
	if d.tls != nil {
		return d.handshake(c)
	}
	c.address = c.addr(newAnonymous(raw, d.config.Roster), c.home)
	if !d.config.Split {
		return d.http, nil
	}
	reader := bufio.NewReaderSize(raw, len(preface))
	first, err := reader.Peek(1)
	switch {
	case err != nil:
		return nil, err
	case first[0] == 0x16:
		return nil, errPlain
	case first[0] != preface[0]: // no method of HTTP begins as the preface does, except POST and PUT
		c.read = reader
		return d.http, nil
	}
	first, err = reader.Peek(len(preface))
	c.read = reader
	if string(first) == preface {
		return d.rpc, nil
	}
	return d.http, err
}

// preface is the beginning of HTTP/2, as much of it as no other request has.
const preface = "PRI"

// sweep ends connections whose certificates count no more.
func (d *Door) sweep() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-d.quit:
			return
		case <-tick.C:
		}
		d.Look()
	}
}

// Look ends connections whose certificates count no more, now.
func (d *Door) Look() {
	d.mutex.Lock()
	var ended []*conn
	for c := range d.seats.all {
		c.mutex.Lock()
		if c.peer != nil && d.config.Identity.Check(c.peer) != nil {
			ended = append(ended, c)
		}
		c.mutex.Unlock()
	}
	d.mutex.Unlock()
	for _, c := range ended {
		_ = c.Close()
	}
}
