// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command bridge measures what tagbus-bridge writes into a durable log beside what the engine's own client
// writes, asynchronously, of the same bytes to the same server.
//
//	go run ./cmd/bridge -bridge ../bin/tagbus-bridge -nats-server $(../scripts/pinned.sh bench github.com/nats-io/nats-server/v2)
//
// Both take turns, each time with an empty log. The publisher on the bus, the bridge, the client and the server are a process
// each. A rate is that of messages from the first one published until the server has stored the last one; until the client, or the
// bridge, has ended where the server does not tell. The table has medians
// over all rounds, and the median of the ratios within a round.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"
)

func init() {
	// The system ends the programs with the thread that started them.
	runtime.LockOSThread()
}

// flags are those of the program.
type flags struct {
	program, natsServer string
	only                string
	rounds              int
	seconds             float64

	// Of a process that the program starts.
	role, url, bus string
	size, tags     int
}

func main() {
	var f flags
	flag.StringVar(&f.program, "bridge", "../bin/tagbus-bridge", "the program tagbus-bridge")
	flag.StringVar(&f.natsServer, "nats-server", "", "the program nats-server")
	flag.StringVar(&f.only, "only", "", "nats.go or franz-go; default: both")
	flag.IntVar(&f.rounds, "rounds", 5, "how often each is measured")
	flag.Float64Var(&f.seconds, "seconds", 3, "how long each publishes")
	flag.StringVar(&f.role, "role", "", "for the program itself")
	flag.StringVar(&f.url, "url", "", "for the program itself")
	flag.StringVar(&f.bus, "bus", "", "for the program itself")
	flag.IntVar(&f.size, "size", 0, "for the program itself")
	flag.IntVar(&f.tags, "tags", 0, "for the program itself")
	flag.Parse()
	if err := f.run(); err != nil {
		fmt.Fprintln(os.Stderr, "bridge:", err)
		os.Exit(1)
	}
}

func (f *flags) run() error {
	length := time.Duration(f.seconds * float64(time.Second))
	switch f.role {
	case roleBus:
		return play(&busSender{dir: f.bus, tags: f.tags}, f.size, length)
	case roleNATS:
		return play(&natsSender{url: f.url, tags: f.tags}, f.size, length)
	case roleKafka:
		return play(&kafkaSender{url: f.url, tags: f.tags}, f.size, length)
	case roleBroker:
		return serve()
	}
	return measure(f, []engine{&natsEngine{program: f.natsServer}, &kafkaEngine{}})
}
