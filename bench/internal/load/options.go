// SPDX-License-Identifier: Apache-2.0

// Package load is what the benchmark programs written in Go have in common: the
// options, the messages and how they are checked, the clock, and how a program
// talks with the runner. The programs in C do the same in c/bench.h: a
// change to one is a change to the other.
package load

import (
	"flag"
	"fmt"
	"os"
	"time"
)

// Options say what a program is to do. The runner sets them; a program ignores
// those that do not concern it.
type Options struct {
	Role string // pub, sub, or server
	Work string // throughput, pingpong, openloop, replay, idle, directory, policy
	Addr string // where the publisher (or the server) is; a folder for tagbus

	Size        int // of the payload, bytes; at least HeaderBytes
	Tags        int // published round robin
	Subscribers int // processes that the publisher waits for
	Producers   int // goroutines or threads that publish

	Seconds float64 // how long to publish
	Rate    float64 // messages a second in an open loop
	Burst   int     // in an open loop: messages that are due together, before which the publisher sleeps; 0: it spins
	Yield   bool    // while it spins it lets other goroutines run
	Command int     // bytes of the messages on tag 1 that an open loop has beside those on tag 0; 0: none
	Busy    int     // tagbus: goroutines of a subscriber that compute all the time
	Channel bool    // answers in ping-pong reach the goroutine that waits through a channel
	Receive string  // tagbus: handler, messages, batches, channel or batch

	Way        string        // of the system: flush, handle, batch, zerocopy, loan
	Backend    string        // tagbus: the transport; empty: its default
	Set        string        // how a subscriber asks for the tags: exact, ranges, masks
	Wanted     int           // tags that a subscriber asks for; default Tags
	Policy     string        // of a tagbus subscription
	Congestion string        // TCP congestion control of the sender; empty: the system's, for tagbus its default
	Flush      time.Duration // tagbus: FlushInterval; 0: the default
	Spin       time.Duration // tagbus: BusyPoll
	Loops      int           // tagbus: that send and receive
	Thread     bool          // tagbus: loops with WaitThread
	Secure     bool          // encrypted, and both sides show who they are
	SendBuffer int           // tagbus: of the socket, bytes; 0: the system's
	RecvBuffer int           // tagbus: of the socket, bytes; 0: the system's
	ReadAll    bool          // the subscriber compares all messages byte by byte
	Connects   int           // tagbus, scale: subscribers in this process; directory: publishers, and as many subscribers
	Spread     int           // directory: processes that have these
	Part       int           // directory: which of these processes this one is
	Members    int           // directory: of etcd; 0: a folder
	Record     string        // tagbus: what a subscriber does with all messages: count, a format of a file, or the command that records; empty: it checks them
	ReadBack   bool          // that file is read, and its messages are checked

	CPUProfile, MemProfile string // files; empty: no profiles
}

// Parse reads the options from the command line.
func Parse() Options {
	var o Options
	flag.StringVar(&o.Role, "role", "", "pub, sub or server")
	flag.StringVar(&o.Work, "work", "throughput", "throughput, pingpong, openloop or replay")
	flag.StringVar(&o.Addr, "addr", "", "of the publisher")
	flag.IntVar(&o.Size, "size", 40, "payload bytes")
	flag.IntVar(&o.Tags, "tags", 1, "published round robin")
	flag.IntVar(&o.Subscribers, "subscribers", 1, "to wait for")
	flag.IntVar(&o.Producers, "producers", 1, "that publish")
	flag.Float64Var(&o.Seconds, "seconds", 1, "how long to publish")
	flag.Float64Var(&o.Rate, "rate", 0, "messages a second")
	flag.IntVar(&o.Burst, "burst", 0, "messages that are due together")
	flag.BoolVar(&o.Yield, "yield", false, "while spinning")
	flag.IntVar(&o.Command, "command", 0, "bytes of the messages on tag 1")
	flag.BoolVar(&o.ReadAll, "read-all", false, "all messages are compared byte by byte")
	flag.IntVar(&o.Busy, "busy", 0, "goroutines of a subscriber that compute")
	flag.BoolVar(&o.Channel, "channel", false, "answers come through a channel")
	flag.StringVar(&o.Receive, "receive", "handler", "handler, messages, batches, channel or batch")
	flag.StringVar(&o.Way, "way", "", "variant of the system")
	flag.StringVar(&o.Backend, "backend", "", "transport")
	flag.StringVar(&o.Set, "set", "exact", "exact, ranges or masks")
	flag.IntVar(&o.Wanted, "wanted", 0, "tags that a subscriber asks for")
	flag.StringVar(&o.Policy, "policy", "", "of the subscription")
	flag.StringVar(&o.Congestion, "congestion", "", "of the sender")
	flag.DurationVar(&o.Flush, "flush", 0, "flush interval")
	flag.DurationVar(&o.Spin, "spin", 0, "busy-poll time")
	flag.IntVar(&o.Loops, "loops", 0, "that send and receive")
	flag.BoolVar(&o.Thread, "thread", false, "loops with a thread of their own")
	flag.BoolVar(&o.Secure, "secure", false, "encrypted, with mutual authentication")
	flag.IntVar(&o.SendBuffer, "send-buffer", 0, "of a socket, bytes")
	flag.IntVar(&o.RecvBuffer, "receive-buffer", 0, "of a socket, bytes")
	flag.IntVar(&o.Connects, "connects", 1, "subscribers in this process")
	flag.IntVar(&o.Spread, "spread", 1, "processes of publishers and subscribers")
	flag.IntVar(&o.Part, "part", 0, "which of these processes this is")
	flag.IntVar(&o.Members, "members", 0, "of etcd")
	flag.StringVar(&o.Record, "record", "", "count, command, recording, mcap, pcapng or data")
	flag.BoolVar(&o.ReadBack, "read-back", false, "check what was recorded")
	flag.StringVar(&o.CPUProfile, "cpuprofile", "", "file")
	flag.StringVar(&o.MemProfile, "memprofile", "", "file")
	flag.Parse()
	o.Wanted = max(o.Wanted, o.Tags)
	if o.Size < HeaderBytes {
		Fail(fmt.Errorf("size %d: want at least %d bytes", o.Size, HeaderBytes))
	}
	return o
}

// Fail ends the program; the runner shows what it says.
func Fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// Must ends the program if err is not nil.
func Must(err error) {
	if err != nil {
		Fail(err)
	}
}
