// SPDX-License-Identifier: Apache-2.0

package examples_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

// side is one side of a connection: the callbacks of one backend.
type side struct {
	netio.NopHandler
	established func(netio.Endpoint)
	refused     func(netip.AddrPort, error)
	data        func([]byte)
	completed   func(netio.Completion)
}

func (s *side) OnConnectionEstablished(ep netio.Endpoint) {
	if s.established != nil {
		s.established(ep)
	}
}

func (s *side) OnConnectionRefused(addr netip.AddrPort, err error) {
	if s.refused != nil {
		s.refused(addr, err)
	}
}

func (s *side) OnData(_ netio.Endpoint, data []byte) {
	if s.data != nil {
		s.data(data)
	}
}

func (s *side) OnSendCompleted(c netio.Completion) {
	if s.completed != nil {
		s.completed(c)
	}
}

// open opens a backend on a loop.
func open(loop *reactor.EventLoop, s *side) netio.Backend {
	backend, err := tcp.Opener(loop, tcp.Config{})(s)
	must(err)
	return backend
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// loopback lets the system pick the port.
var loopback = netip.MustParseAddrPort("127.0.0.1:0")

// One connection is established, which both sides hear, and one is refused,
// because its endpoint no longer listens: the first program of the netio3 guide.
func Example_opening() {
	loop, err := reactor.New(reactor.Config{})
	must(err)
	listener := &side{established: func(ep netio.Endpoint) {
		fmt.Println("the listener has a connection, can receive:", ep.Capabilities().Receive)
	}}
	server := open(loop, listener)
	var outcomes int
	outcome := func() {
		if outcomes++; outcomes == 2 {
			loop.Stop()
		}
	}
	client := open(loop, &side{
		established: func(ep netio.Endpoint) {
			fmt.Println("the initiator has a connection, can send buffered:", ep.Capabilities().Buffered)
			outcome()
		},
		refused: func(_ netip.AddrPort, err error) {
			fmt.Println("refused:", errors.Is(err, syscall.ECONNREFUSED))
			outcome()
		},
	})
	params := netio.Params{Buffered: netio.BufferedParams{Buffers: 16, BufferBytes: 4096}}
	listen, err := server.OpenListenEndpoint(loopback, netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 4096, Buffers: 16}})
	must(err)
	must(client.OpenEndpoint(listen.Addr(), params))

	closed, err := server.OpenListenEndpoint(loopback, netio.Params{})
	must(err)
	must(closed.Close())
	// The endpoint listens until the loop has freed its port.
	loop.Post(func() { must(client.OpenEndpoint(closed.Addr(), params)) })

	must(loop.Run(context.Background()))
	must(client.Close())
	must(server.Close())
	must(loop.Close())
	// Unordered output:
	// the listener has a connection, can receive: true
	// the initiator has a connection, can send buffered: true
	// refused: true
}

// exchange opens a connection, sends on it, and returns the message that has
// arrived and the key that was completed.
func exchange(params netio.Params, send func(netio.Endpoint) error, completed func()) (received []byte, key netio.Key) {
	loop, err := reactor.New(reactor.Config{})
	must(err)
	events := 0
	event := func() {
		if events++; events == 2 {
			loop.Stop()
		}
	}
	server := open(loop, &side{data: func(data []byte) {
		received = bytes.Clone(data) // it is valid until return
		event()
	}})
	client := open(loop, &side{
		established: func(ep netio.Endpoint) { must(send(ep)) },
		completed: func(c netio.Completion) {
			key = c.Key
			completed()
			event()
		},
	})
	listen, err := server.OpenListenEndpoint(loopback, netio.Params{})
	must(err)
	must(client.OpenEndpoint(listen.Addr(), params))
	must(loop.Run(context.Background()))
	must(client.Close())
	must(server.Close())
	must(loop.Close())
	return received, key
}

// A header of up to 16 bytes stands before the data and may be reused at once;
// the data belongs to the backend until its key is completed.
func Example_zeroCopy() {
	data, header := []byte{0x1, 0x2}, []byte{0x0}
	received, key := exchange(netio.Params{ZeroCopy: netio.ZeroCopyParams{Region: data}},
		func(ep netio.Endpoint) error {
			err := ep.Send(7, header, data)
			header[0] = 0xff
			return err
		},
		func() { data[0] = 0xff })
	fmt.Printf("received % x, completed key %d\n", received, key)
	// Output: received 00 01 02, completed key 7
}

// Everything may be reused at once, for the price of a copy.
func Example_immediate() {
	data, header := []byte{0x1, 0x2}, []byte{0x0}
	received, key := exchange(netio.Params{},
		func(ep netio.Endpoint) error {
			err := ep.SendCopy(8, header, data)
			header[0], data[0] = 0xff, 0xff
			return err
		},
		func() {})
	fmt.Printf("received % x, completed key %d\n", received, key)
	// Output: received 00 01 02, completed key 8
}

// TestNothingIsEstablishedBeforeTheLoopRuns: the kernel connects, but the
// backend has no goroutine of its own that could report it.
func TestNothingIsEstablishedBeforeTheLoopRuns(t *testing.T) {
	loop, err := reactor.New(reactor.Config{})
	if err != nil {
		t.Fatal(err)
	}
	running := make(chan struct{})
	both := 0
	heard := &side{established: func(netio.Endpoint) {
		select {
		case <-running:
		default:
			t.Error("a connection was established before Run")
		}
		if both++; both == 2 {
			loop.Stop()
		}
	}}
	server, client := open(loop, heard), open(loop, heard)
	listen, err := server.OpenListenEndpoint(loopback, netio.Params{})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.OpenEndpoint(listen.Addr(), netio.Params{}); err != nil {
		t.Fatal(err)
	}
	<-time.After(20 * time.Millisecond) // what must not happen would have happened
	close(running)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := loop.Run(ctx); err != nil {
		t.Fatalf("Run: got %v, want nil: both sides are established", err)
	}
	for _, close := range []func() error{client.Close, server.Close, loop.Close} {
		if err := close(); err != nil {
			t.Error(err)
		}
	}
}
