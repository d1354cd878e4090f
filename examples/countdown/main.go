// SPDX-License-Identifier: Apache-2.0

// Command countdown counts from 10 down to 1 by a timer: the third program of
// the NetIO-next documentation.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"tagbus/netio/reactor"
)

func main() {
	period := flag.Duration("period", time.Second, "time between two numbers, such as 1s, 20ms or 500us")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *period); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, period time.Duration) (err error) {
	loop, err := reactor.New(reactor.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, loop.Close()) }()

	counter := 10
	timer, err := loop.NewTimer(func() {
		fmt.Fprintln(out, counter)
		counter--
		if counter == 0 {
			loop.Stop()
		}
	})
	if err != nil {
		return err
	}
	if err := timer.Start(period); err != nil {
		return err
	}
	return loop.Run(ctx)
}
