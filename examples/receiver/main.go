// SPDX-License-Identifier: Apache-2.0

// Command receiver accepts connections and tells of the messages that arrive:
// the receiver of the netio3 guide, which uses a backend directly, without the
// bus.
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
	listen := flag.String("listen", "127.0.0.1:0", "`address` to listen on; port 0 lets the system pick")
	count := flag.Int("count", 1, "stop after this many `messages`")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *listen, *count); err != nil {
		log.Fatal(err)
	}
}

// receiver is the callbacks. They run on the event loop, one at a time.
type receiver struct {
	netio.NopHandler
	out  io.Writer
	left int
	done func()
}

// OnConnectionEstablished implements netio.Handler.
func (r *receiver) OnConnectionEstablished(ep netio.Endpoint) {
	fmt.Fprintf(r.out, "Connection established, can receive: %v\n", ep.Capabilities().Receive)
}

// OnData implements netio.Handler. data is valid until it returns.
func (r *receiver) OnData(_ netio.Endpoint, data []byte) {
	fmt.Fprintf(r.out, "Received data of size %d\n", len(data))
	if r.left--; r.left == 0 {
		r.done()
	}
}

// OnConnectionClosed implements netio.Handler.
func (r *receiver) OnConnectionClosed(netio.Endpoint, []netio.Key, error) {
	fmt.Fprintln(r.out, "Connection closed")
}

func run(ctx context.Context, out io.Writer, listen string, count int) (err error) {
	addr, err := netip.ParseAddrPort(listen)
	if err != nil {
		return err
	}
	loop, err := reactor.New(reactor.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, loop.Close()) }()

	r := &receiver{out: out, left: count}
	backend, err := tcp.Opener(loop, tcp.Config{})(r)
	if err != nil {
		return err
	}
	endpoint, err := backend.OpenListenEndpoint(addr, netio.Params{
		Receive: netio.ReceiveParams{MaxMessageBytes: 4096},
	})
	if err != nil {
		return errors.Join(err, backend.Close())
	}
	r.done = func() {
		// Closing is legal in a callback; so is stopping the loop.
		_ = endpoint.Close()
		loop.Stop()
	}
	fmt.Fprintln(out, "Listening on", endpoint.Addr())
	return errors.Join(loop.Run(ctx), backend.Close())
}
