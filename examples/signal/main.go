// SPDX-License-Identifier: Apache-2.0

// Command signal fires a signal, whose callback the event loop runs after the
// function that has fired it: the second program of the NetIO-next
// documentation.
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

func run(ctx context.Context, out io.Writer) (err error) {
	var signal *reactor.Signal
	loop, err := reactor.New(reactor.Config{
		Init: func() {
			signal.Fire()
			fmt.Fprintln(out, "on_init()")
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, loop.Close()) }()

	// What a C program hands over as data pointer, the function closes over.
	fired := false
	signal, err = loop.NewSignal(reactor.Coalescing, func() {
		fired = true
		fmt.Fprintln(out, "on_signal()")
		loop.Stop()
	})
	if err != nil {
		return err
	}
	if err := loop.Run(ctx); err != nil {
		return err
	}
	if fired {
		fmt.Fprintln(out, "the signal has been fired")
	}
	return nil
}
