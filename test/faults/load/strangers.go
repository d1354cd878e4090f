// SPDX-License-Identifier: Apache-2.0

//go:build linux

package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// crowd is many connections that are not from programs of the bus.
type crowd struct {
	*common
	to, mode, hello string
	n               int

	refused, closed, handshakes, answered atomic.Int64
	longest                               atomic.Int64 // nanoseconds until one was closed by the other side
}

// The beginning of what a program of the bus says first, and of that in TLS. Each announces 300 bytes.
const (
	plainHello  = "\x2c\x01\x00\x00TAGBUS\x01\x00"
	secureHello = "\x16\x03\x01\x01\x2c\x01\x00\x01\x28\x03\x03\x00"
)

// strangers is the program: it opens connections and does with each what -mode says, until SIGTERM. It says
// "dialed" with how many are open when each is or was refused, and "closed" with the counts when all are closed.
func strangers(c *common, args []string) int {
	s := &crowd{common: c, hello: plainHello}
	c.StringVar(&s.to, "to", "", "address")
	c.StringVar(&s.mode, "mode", "idle", "idle, slow, cut, random, http, unread, tls or lengths")
	c.IntVar(&s.n, "n", 1000, "connections")
	secure := c.Bool("secure", false, "a hello is that of TLS")
	_ = c.Parse(args) // flag.ExitOnError
	if *secure {
		s.hello = secureHello
	}
	stop, end := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer end()
	c.say(Line{What: "ready"})
	var dialed, all sync.WaitGroup
	for range s.n {
		dialed.Add(1)
		all.Go(func() { s.one(stop, dialed.Done) })
	}
	dialed.Wait()
	c.say(Line{What: "dialed", Count: s.n - int(s.refused.Load())})
	all.Wait()
	c.say(Line{
		What: "closed", Count: int(s.closed.Load()), Took: s.longest.Load(),
		Handshakes: int(s.handshakes.Load()), Answered: int(s.answered.Load()),
	})
	return 0
}

// one is one connection. It ends by the other side, or with the program.
func (s *crowd) one(stop context.Context, dialed func()) {
	d := net.Dialer{Timeout: 2 * time.Minute} // more than a machine stands still
	conn, err := d.DialContext(stop, "tcp", s.to)
	if err != nil {
		s.refused.Add(1)
		dialed()
		return
	}
	dialed()
	begun := time.Now()
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(stop, func() { _ = conn.Close() })()
	switch s.mode {
	case "tls":
		s.shake(stop, conn)
	case "unread":
		go s.talk(stop, conn)
		s.unread(stop, conn)
	default:
		go s.talk(stop, conn)
	}
	_, _ = io.Copy(io.Discard, conn) // how it ends does not matter
	if stop.Err() == nil {
		s.closed.Add(1)
		for took := int64(time.Since(begun)); ; {
			if old := s.longest.Load(); old >= took || s.longest.CompareAndSwap(old, took) {
				return
			}
		}
	}
}

// shake makes a handshake without a certificate. The other side may refuse that afterwards.
func (s *crowd) shake(stop context.Context, conn net.Conn) {
	client := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) // a stranger
	if client.HandshakeContext(stop) == nil {
		s.handshakes.Add(1)
	}
}

// unread reads where an answer begins, and nothing more until the end of the program.
func (s *crowd) unread(stop context.Context, conn net.Conn) {
	const ok = "HTTP/1.1 200"
	begin := make([]byte, len(ok))
	if _, err := io.ReadFull(conn, begin); err == nil && string(begin) == ok {
		s.answered.Add(1)
	}
	<-stop.Done()
}

// talk says what the mode wants. An error is the end of the connection, which the reader sees.
func (s *crowd) talk(stop context.Context, conn net.Conn) {
	switch s.mode {
	case "idle":
	case "slow": // a byte of a hello each second
		var err error
		for i := 0; err == nil && stop.Err() == nil; i++ {
			_, err = conn.Write([]byte{s.hello[i%len(s.hello)]})
			select {
			case <-time.After(time.Second):
			case <-stop.Done():
			}
		}
	case "cut": // a part of a hello, and the end
		if _, err := io.WriteString(conn, s.hello); err == nil {
			_ = conn.(*net.TCPConn).CloseWrite()
		}
	case "random":
		_, _ = conn.Write(noise(4096))
	case "http":
		_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: tagbus\r\n\r\n")
	case "unread": // answers of 30 MB, more than the buffers of a connection take
		_, _ = conn.Write(bytes.Repeat([]byte("GET /static/style.css HTTP/1.1\r\nHost: "+s.to+"\r\n\r\n"), 2000))
	case "lengths": // of frames that cannot be
		_, _ = conn.Write(bytes.Repeat([]byte{0xff}, 64))
	}
}

func noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.IntN(256)) // any bytes
	}
	return b
}
