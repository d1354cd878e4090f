// SPDX-License-Identifier: Apache-2.0

// Command hello prints a line from the event loop: the smallest program, and
// the first one of the NetIO-next documentation.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"tagbus/netio/reactor"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	var loop *reactor.EventLoop
	loop, err := reactor.New(reactor.Config{
		// Init is called once, when the loop begins.
		Init: func() {
			fmt.Fprintln(out, "Hello, NetIO!")
			loop.Stop() // else the loop would run for ever
		},
	})
	if err != nil {
		return err
	}
	return errors.Join(loop.Run(ctx), loop.Close())
}
