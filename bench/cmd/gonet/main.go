// SPDX-License-Identifier: Apache-2.0

// Command gonet is the benchmark program of plain Go: net.Conn, with records
// that are coalesced as the yardstick in C does it (c/yard.c).
package main

import (
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"

	"tagbus/bench/internal/certs"
	"tagbus/bench/internal/load"
)

const (
	pageBytes = 2 * 65450
	readBytes = 256 << 10

	// A record is its length and its tag, little-endian, and the payload.
	recordHeader = 4 + 8
)

func main() {
	o := load.Parse()
	switch {
	case o.Work == load.WorkPingPong:
		pingPong(o)
	case o.Role == load.RolePub:
		publish(o)
	default:
		subscribe(o)
	}
}

// listen accepts the subscribers of a run.
func listen(o load.Options) []net.Conn {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	load.Must(err)
	if o.Secure {
		load.Must(certs.Make())
		config, err := certs.Config()
		load.Must(err)
		l = tls.NewListener(l, config)
	}
	load.Listening(l.Addr().String())
	conns := make([]net.Conn, o.Subscribers)
	for i := range conns {
		conns[i], err = l.Accept()
		load.Must(err)
		if c, ok := conns[i].(*tls.Conn); ok {
			load.Must(c.Handshake())
		}
	}
	return conns
}

func publish(o load.Options) {
	w := &writer{conns: listen(o), page: make([]byte, 0, pageBytes), size: o.Size, data: load.NewMessage(o.Size)}
	load.AwaitGo()
	load.Publish(o, load.System{Sender: func(load.Options) load.Sender { return w }, Flush: w.flush, Idle: w.flush})
}

// writer coalesces records into a page and writes it to all subscribers.
type writer struct {
	conns []net.Conn
	page  []byte
	size  int
	data  []byte
}

// Publish implements load.Sender.
func (w *writer) Publish(tag int, sequence uint64, lane uint32, due int64) {
	if len(w.page)+recordHeader+w.size > cap(w.page) {
		w.flush()
		if recordHeader+w.size > cap(w.page) {
			w.page = make([]byte, 0, recordHeader+w.size)
		}
	}
	load.Stamp(w.data, sequence, lane, due)
	at := len(w.page)
	w.page = w.page[:at+recordHeader]
	binary.LittleEndian.PutUint32(w.page[at:], uint32(w.size))
	binary.LittleEndian.PutUint64(w.page[at+4:], uint64(tag))
	w.page = append(w.page, w.data...)
}

func (w *writer) flush() {
	for _, c := range w.conns {
		_, err := c.Write(w.page)
		load.Must(err)
	}
	w.page = w.page[:0]
}

func dial(o load.Options) net.Conn {
	c, err := net.Dial("tcp", o.Addr)
	load.Must(err)
	if o.Secure {
		config, err := certs.Config()
		load.Must(err)
		secure := tls.Client(c, config)
		load.Must(secure.Handshake())
		return secure
	}
	return c
}

// subscribe finds records in place, as long as a read brings them.
func subscribe(o load.Options) {
	c := dial(o)
	load.Ready()
	checker := load.NewChecker(o)
	buffer := make([]byte, max(readBytes, 2*(recordHeader+o.Size)))
	for from, to := 0, 0; ; {
		n, err := c.Read(buffer[to:])
		load.Must(err)
		for to += n; to-from >= recordHeader; {
			end := from + recordHeader + int(binary.LittleEndian.Uint32(buffer[from:]))
			if end > to {
				break
			}
			if checker.Take(buffer[from+recordHeader : end]) {
				checker.Result().Report()
				return
			}
			from = end
		}
		to, from = copy(buffer, buffer[from:to]), 0
	}
}

// pingPong answers in the goroutine that reads. That of the publisher hands the
// answer to the one that waits, through a channel, or is the same.
func pingPong(o load.Options) {
	if o.Role == load.RoleSub {
		c := dial(o)
		load.Ready()
		read(c, o.Size, func(data []byte) bool {
			_, err := c.Write(data)
			load.Must(err)
			return false
		})
		return
	}
	c := listen(o)[0]
	load.AwaitGo()
	player := load.NewPings(o, func(data []byte) {
		_, err := c.Write(data)
		load.Must(err)
	})
	if o.Channel {
		go read(c, o.Size, func(data []byte) bool {
			player.Handle(data)
			return false
		})
		player.Play()
	} else {
		player.Start()
		read(c, o.Size, player.Return)
	}
	player.Result().Report()
	load.AwaitQuit()
}

// read reads messages until take returns true or the other side has ended.
func read(c net.Conn, size int, take func([]byte) bool) {
	data := make([]byte, size)
	for {
		if _, err := io.ReadFull(c, data); err != nil || take(data) {
			return
		}
	}
}
