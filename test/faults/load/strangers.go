// SPDX-License-Identifier: Apache-2.0

//go:build linux

package load

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// crowd is many connections that are not from programs of the bus.
type crowd struct {
	*common
	to, mode string
	n        int

	refused, closed, answered atomic.Int64
	longest                   atomic.Int64 // nanoseconds until one was closed by the other side
}

// strangers is the program: it opens connections and does with each what -mode says, until SIGTERM. It says
// "done" with the counts when all are open, or refused, and again when all are closed.
func strangers(c *common, args []string) int {
	s := &crowd{common: c}
	c.StringVar(&s.to, "to", "", "address")
	c.StringVar(&s.mode, "mode", "idle", "idle, slow, cut, random, http, tls, or lengths")
	c.IntVar(&s.n, "n", 1000, "connections")
	_ = c.Parse(args) // flag.ExitOnError
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
	c.say(Line{What: "closed", Count: int(s.closed.Load()), Answered: int(s.answered.Load()), Took: s.longest.Load()})
	return 0
}

// hello is how that of a program of the bus begins.
const hello = "\x2c\x01\x00\x00TAGBUS\x01\x00"

// one is one connection.
func (s *crowd) one(stop context.Context, dialed func()) {
	d := net.Dialer{Timeout: 30 * time.Second}
	conn, err := d.DialContext(stop, "tcp", s.to)
	dialed()
	if err != nil {
		s.refused.Add(1)
		return
	}
	begun := time.Now()
	defer context.AfterFunc(stop, func() { _ = conn.Close() })()
	go s.talk(stop, conn)
	n, _ := io.Copy(io.Discard, conn) // how it ends does not matter
	if n > 0 {
		s.answered.Add(1)
	}
	_ = conn.Close()
	if stop.Err() == nil {
		s.closed.Add(1)
		for took := int64(time.Since(begun)); ; {
			if old := s.longest.Load(); old >= took || s.longest.CompareAndSwap(old, took) {
				return
			}
		}
	}
}

// talk says what the mode wants.
func (s *crowd) talk(stop context.Context, conn net.Conn) {
	var err error
	switch s.mode {
	case "idle":
	case "slow": // a byte each second of a hello of 300 bytes
		for i := 0; err == nil && stop.Err() == nil; i++ {
			_, err = conn.Write([]byte{hello[i%len(hello)]})
			select {
			case <-time.After(time.Second):
			case <-stop.Done():
			}
		}
	case "cut": // half a hello, and the end
		if _, err = io.WriteString(conn, hello); err == nil {
			err = conn.(*net.TCPConn).CloseWrite()
		}
	case "random":
		_, err = conn.Write(noise(4096))
	case "http":
		_, err = conn.Write([]byte("GET / HTTP/1.1\r\nHost: tagbus\r\n\r\n"))
	case "tls":
		client := tls.Client(struct {
			net.Conn
		}{conn}, &tls.Config{InsecureSkipVerify: true}) // a stranger
		err = client.HandshakeContext(stop)
	case "lengths": // of frames that cannot be
		_, err = conn.Write(bytes.Repeat([]byte{0xff}, 64))
	}
	if err != nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrDeadlineExceeded) {
		_ = conn.Close()
	}
}

func noise(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rand.IntN(256)) // any bytes
	}
	return b
}
