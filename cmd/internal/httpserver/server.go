// SPDX-License-Identifier: Apache-2.0

// Package httpserver serves a program by HTTP to strangers, within bounds of memory and
// connections.
//
// A connection costs a descriptor and some 20 KB, of a process whose business are the
// connections of the bus. So there are few, and one that asks for nothing gives way.
//
// Imports: net/http.
package httpserver

import (
	"container/list"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// Config says how a server works. Nothing has a default.
type Config struct {
	Handler     http.Handler
	Connections int           // at a time
	Patience    time.Duration // bounds a request, and the answer unless the handler sets another deadline
	Idle        time.Duration // how long a connection may wait for its next request
}

// maxHeaderBytes bounds a request: nothing that is served here has a body.
const maxHeaderBytes = 16 << 10

// New returns a server. Its errors about strangers are no lines of the log.
//
// Serve it with Serve of this package.
func New(c Config) *Server {
	s := &Server{most: c.Connections, conns: make(map[net.Conn]*conn)}
	s.Server = &http.Server{
		Handler: s.counted(c.Handler), MaxHeaderBytes: maxHeaderBytes,
		ReadTimeout: c.Patience, WriteTimeout: c.Patience, IdleTimeout: c.Idle,
		ErrorLog:    log.New(io.Discard, "", 0),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, key{}, s.of(c)) },
		ConnState:   s.state,
	}
	return s
}

// Server is an http.Server with few connections. Of more, the one that has asked for nothing
// for longest ends, in the middle of a request that has not come as a whole, too. When all are
// being answered the new one ends.
//
// Threads: any.
type Server struct {
	*http.Server
	most int

	mu    sync.Mutex
	conns map[net.Conn]*conn
	idle  list.List // of *conn: for the longest time first
}

// conn is a connection.
type conn struct {
	net.Conn
	idle *list.Element // nil: a request of it is being answered
}

type key struct{}

// Serve is http.Server.Serve with the bound.
func (s *Server) Serve(l net.Listener) error { return s.Server.Serve(&listener{l, s}) }

// listener closes the connections that are too many.
type listener struct {
	net.Listener
	server *Server
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.server.admit(c) {
			return c, nil
		}
		_ = c.Close()
	}
}

// admit adds a connection, in the place of the oldest idle one if there are too many. It
// returns false if none is idle.
func (s *Server) admit(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) >= s.most {
		oldest := s.idle.Front()
		if oldest == nil {
			return false
		}
		way := oldest.Value.(*conn)
		s.forget(way)
		_ = way.Close() // net/http notices when it reads
	}
	n := &conn{Conn: c}
	n.idle = s.idle.PushBack(n)
	s.conns[c] = n
	return true
}

// forget removes a connection. mu is held.
func (s *Server) forget(c *conn) {
	delete(s.conns, c.Conn)
	if c.idle != nil {
		s.idle.Remove(c.idle)
		c.idle = nil
	}
}

// of returns what is known of a connection; nil: it has given way.
func (s *Server) of(c net.Conn) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conns[c]
}

// state is http.Server.ConnState.
func (s *Server) state(c net.Conn, state http.ConnState) {
	if state != http.StateClosed && state != http.StateHijacked {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.conns[c]; n != nil {
		s.forget(n)
	}
}

// counted answers requests with a handler, and keeps their connections from giving way
// meanwhile.
func (s *Server) counted(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, _ := r.Context().Value(key{}).(*conn)
		s.busy(c, true)
		defer s.busy(c, false)
		h.ServeHTTP(w, r)
	})
}

// busy notes that a request begins to be answered, or is.
func (s *Server) busy(c *conn, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c == nil || s.conns[c.Conn] != c {
		return // it has given way
	}
	if c.idle != nil {
		s.idle.Remove(c.idle)
		c.idle = nil
	}
	if !is {
		c.idle = s.idle.PushBack(c)
	}
}
