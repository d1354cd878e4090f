// SPDX-License-Identifier: Apache-2.0

// Command sender connects to a receiver and sends it messages from the
// backend's buffers: the sender of the netio3 guide, which uses a backend
// directly, without the bus.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/netip"
	"os"

	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

func main() {
	connect := flag.String("connect", "", "`address` of the receiver")
	count := flag.Int("count", 1, "number of `messages` to send")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *connect, *count); err != nil {
		log.Fatal(err)
	}
}

// sender is the callbacks. They run on the event loop, one at a time.
type sender struct {
	netio.NopHandler
	out     io.Writer
	send    int // messages still to be sent
	pending int // messages not yet completed
	err     error
	stop    func()
}

// OnConnectionEstablished implements netio.Handler.
func (s *sender) OnConnectionEstablished(ep netio.Endpoint) {
	fmt.Fprintf(s.out, "Connection established, can send buffered: %v\n", ep.Capabilities().Buffered)
	s.pump(ep)
}

// pump sends until no buffer is free; OnSendReady goes on.
func (s *sender) pump(ep netio.Endpoint) {
	for s.send > 0 {
		buffer, err := ep.Buffer()
		if errors.Is(err, netio.ErrNoResources) {
			return
		}
		if err == nil {
			_, err = fmt.Fprintf(buffer, "message, %d to go", s.send)
		}
		if err == nil {
			err = ep.SendBuffer(buffer)
		}
		if err != nil {
			s.fail(err)
			return
		}
		s.send--
		s.pending++
	}
}

// OnSendReady implements netio.Handler: there is a free buffer again.
func (s *sender) OnSendReady(ep netio.Endpoint) { s.pump(ep) }

// OnSendCompleted implements netio.Handler.
func (s *sender) OnSendCompleted(c netio.Completion) {
	fmt.Fprintf(s.out, "Send operation with key %d completed\n", c.Key)
	if s.pending--; s.pending == 0 && s.send == 0 {
		_ = c.Endpoint.Close()
	}
}

// OnConnectionRefused implements netio.Handler.
func (s *sender) OnConnectionRefused(_ netip.AddrPort, err error) { s.fail(err) }

// OnConnectionClosed implements netio.Handler.
func (s *sender) OnConnectionClosed(_ netio.Endpoint, keys []netio.Key, cause error) {
	if len(keys)+s.send > 0 {
		s.err = errors.Join(s.err, fmt.Errorf("%d messages were not sent: %w", len(keys)+s.send, cause))
	}
	fmt.Fprintln(s.out, "Connection closed")
	s.stop()
}

func (s *sender) fail(err error) {
	s.err = err
	s.stop()
}

func run(ctx context.Context, out io.Writer, connect string, count int) (err error) {
	addr, err := netip.ParseAddrPort(connect)
	if err != nil {
		return err
	}
	loop, err := reactor.New(reactor.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, loop.Close()) }()

	s := &sender{out: out, send: count, stop: loop.Stop}
	backend, err := tcp.Opener(loop, tcp.Config{})(s)
	if err != nil {
		return err
	}
	if err := backend.OpenEndpoint(addr, netio.Params{
		Buffered: netio.BufferedParams{Buffers: 16, BufferBytes: 4096},
	}); err != nil {
		return errors.Join(err, backend.Close())
	}
	return errors.Join(loop.Run(ctx), s.err, backend.Close())
}
