// SPDX-License-Identifier: Apache-2.0

//go:build linux

package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// plainBuffer is as large as a page of the bus by default.
	plainBuffer = 130_900

	// plainTime is how long plain TCP may take to begin, and to go on.
	plainTime = 10 * time.Second

	// maxPlain is how many connections there may be at once.
	maxPlain = 4

	loadMode = 'l' // 8 bytes, little endian, say how many follow; all are answered by one
	pingMode = 'p' // what comes goes back
)

// plainServer is the other end of plain TCP: what is compared with the bus.
type plainServer struct {
	listener net.Listener
	token    string
	places   chan struct{}
	wg       sync.WaitGroup
	ctx      context.Context
	cancel   func()
}

func listenPlain(at netip.AddrPort) (*plainServer, error) {
	l, err := net.Listen("tcp", at.String())
	if err != nil {
		return nil, err
	}
	s := &plainServer{listener: l, token: rand.Text(), places: make(chan struct{}, maxPlain)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.wg.Go(s.accept)
	return s, nil
}

// ip returns the IP on which it listens.
func (s *plainServer) ip() netip.Addr {
	return s.listener.Addr().(*net.TCPAddr).AddrPort().Addr().Unmap()
}

func (s *plainServer) port() uint16 { return uint16(s.listener.Addr().(*net.TCPAddr).Port) }

// close ends all connections.
func (s *plainServer) close() {
	s.cancel()
	_ = s.listener.Close() // it was opened for nothing else
	s.wg.Wait()
}

func (s *plainServer) accept() {
	for {
		c, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		select {
		case s.places <- struct{}{}:
			s.wg.Go(func() {
				defer func() { <-s.places }()
				defer context.AfterFunc(s.ctx, func() { _ = c.Close() })() // ends what waits for it
				defer func() { _ = c.Close() }()                           // the other side says what is wrong
				_ = s.converse(c)                                          // as above
			})
		default:
			_ = c.Close() // which is the answer
		}
	}
}

// converse serves a connection, which begins with the token and a mode.
func (s *plainServer) converse(c net.Conn) error {
	head := make([]byte, len(s.token)+1)
	if err := c.SetDeadline(time.Now().Add(plainTime)); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, head); err != nil || string(head[:len(s.token)]) != s.token {
		return err
	}
	buffer := make([]byte, plainBuffer)
	if head[len(s.token)] == pingMode {
		for {
			if err := c.SetDeadline(time.Now().Add(sessionTime)); err != nil {
				return err
			}
			n, err := c.Read(buffer)
			if err == nil {
				_, err = c.Write(buffer[:n])
			}
			if err != nil {
				return err
			}
		}
	}
	for {
		if err := c.SetDeadline(time.Now().Add(sessionTime)); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, buffer[:8]); err != nil {
			return err
		}
		left := binary.LittleEndian.Uint64(buffer)
		if err := c.SetDeadline(time.Now().Add(loadTime(left))); err != nil {
			return err
		}
		for left > 0 {
			n, err := c.Read(buffer[:min(left, plainBuffer)])
			if err != nil {
				return err
			}
			left -= uint64(n)
		}
		if _, err := c.Write(buffer[:1]); err != nil {
			return err
		}
	}
}

// loadTime is how long so many bytes may take: a second for each megabyte, and at most a
// day.
func loadTime(total uint64) time.Duration {
	return sessionTime + time.Duration(min(total>>20, 24*60*60))*time.Second
}

// plainClient is the running side of plain TCP.
type plainClient struct {
	load, ping net.Conn
	buffer     []byte
}

func dialPlain(ctx context.Context, to netip.AddrPort, token string) (*plainClient, error) {
	p := &plainClient{buffer: make([]byte, plainBuffer)}
	for _, mode := range []struct {
		conn *net.Conn
		name byte
	}{{&p.load, loadMode}, {&p.ping, pingMode}} {
		dialer := net.Dialer{Timeout: plainTime}
		c, err := dialer.DialContext(ctx, "tcp", to.String())
		if err == nil {
			*mode.conn = c
			_, err = c.Write(append([]byte(token), mode.name))
		}
		if err != nil {
			p.close()
			return nil, fmt.Errorf("plain TCP to the serving side: %w", err)
		}
	}
	return p, nil
}

func (p *plainClient) close() {
	for _, c := range []net.Conn{p.load, p.ping} {
		if c != nil {
			_ = c.Close() // all was received
		}
	}
}

// send sends so many bytes, and returns how long it took until they were there.
func (p *plainClient) send(total uint64) (time.Duration, error) {
	if err := p.load.SetDeadline(time.Now().Add(loadTime(total))); err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := p.load.Write(binary.LittleEndian.AppendUint64(nil, total)); err != nil {
		return 0, err
	}
	for left := total; left > 0; {
		n, err := p.load.Write(p.buffer[:min(left, plainBuffer)])
		if err != nil {
			return 0, err
		}
		left -= uint64(n)
	}
	_, err := io.ReadFull(p.load, p.buffer[:1])
	return time.Since(began), err
}

// errPlain is what comes back changed.
var errPlain = errors.New("plain TCP: what came back is not what was sent")

// trip sends a message and waits until it is back.
func (p *plainClient) trip(message, space []byte) (time.Duration, error) {
	if err := p.ping.SetDeadline(time.Now().Add(plainTime)); err != nil {
		return 0, err
	}
	began := time.Now()
	if _, err := p.ping.Write(message); err != nil {
		return 0, err
	}
	back := space[:len(message)]
	if _, err := io.ReadFull(p.ping, back); err != nil {
		return 0, err
	}
	took := time.Since(began)
	if !bytes.Equal(back, message) {
		return 0, errPlain
	}
	return took, nil
}
