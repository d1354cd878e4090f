// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rows

import (
	"fmt"
	"syscall"
	"time"

	"tagbus/test/faults/internal/table"
)

// killed is what it takes to show that a process was killed.
var killed = table.Counts{"killed": 1}

// processes are the rows of processes that end, or stand still.
var processes = []table.Row{
	{
		Number: "1", Name: "a publisher is killed under load", Inject: "SIGKILL",
		Promise:     "each subscriber is told within 1 s that the connection is lost, and that the publisher has vanished when its entry has expired; no message comes in part",
		Directories: both, Ways: all, Quick: true, Struck: killed,
		Run: func(c *table.Case) {
			c.Timeout = time.Minute // what tells is the end of the connection
			publisher, victim, other := c.Begin()
			at := publisher.KillNow()
			for _, s := range []*table.Program{victim, other} {
				s.Told("lost", at, time.Second)
				s.Told("vanished", at, 15*time.Second)
			}
			c.Finish()
		},
	},
	{
		Number: "2", Name: "a subscriber is killed under load", Inject: "SIGKILL",
		Promise: "the publisher is told within 1 s; the other subscriber misses nothing",
		Ways:    all, Quick: true, Struck: killed,
		Run: func(c *table.Case) {
			c.Timeout = time.Minute // what tells is the end of the connection
			publisher, victim, other := c.Begin()
			c.Lossless()
			at := victim.KillNow()
			publisher.Told("lost", at, time.Second)
			other.Flows(at, 5*time.Second)
			c.Finish()
		},
	},
	{
		Number: "3", Name: "a publisher is killed and starts again", Inject: "SIGKILL, and another process with the same tags",
		Promise:     "the new one is found within 2 s of its start, as another instance",
		Directories: both, Ways: all, Quick: true, Struck: killed,
		Run: func(c *table.Case) {
			publisher, victim, other := c.Begin()
			publisher.KillNow()
			at := c.Now()
			again := c.Publisher("again", c.A, "-subscribers", "2")
			again.Says("ready")
			victim.Late, other.Late = true, true // each may come when the other one is there
			victim.Told("connected", at, 2*time.Second)
			victim.Flows(at, 5*time.Second)
			victim.Told("vanished", at, 15*time.Second)
			other.Told("vanished", at, 15*time.Second)
			c.Finish()
		},
	},
	{
		Number: "13", Name: "a subscriber stands still", Inject: "SIGSTOP for 2 s, shorter than its heartbeats may be silent, and SIGCONT",
		Promise: "it goes on within 5 s; a policy that may lose tells what it lost; the other subscriber goes on",
		Ways:    all, Quick: true, Struck: table.Counts{pause: 1500, waited: 1000, lost: 1},
		Run: func(c *table.Case) {
			c.Timeout = 20 * time.Second
			publisher, victim, other := c.Begin("-bytes", "8000") // more than the buffers of the system take
			c.Must(victim.Signal(syscall.SIGSTOP))
			table.Idle(2 * time.Second)
			at := c.Now()
			c.Must(victim.Signal(syscall.SIGCONT))
			victim.Flows(at, 5*time.Second)
			other.Flows(at, 5*time.Second)
			c.Finish()
			countPause(c, victim)
			countFull(c, publisher, victim)
		},
	},
	{
		Number: "51", Name: "a publisher is to end under load", Inject: "SIGTERM",
		Promise:     "it has ended within 5 s, with status 0, and each subscriber has all and is told goodbye",
		Directories: both, Ways: all, Quick: true, Struck: table.Counts{"victim told goodbye": 1, "other told goodbye": 1},
		Run: func(c *table.Case) {
			_, victim, other := c.Begin()
			c.Lossless()
			at := c.Now()
			c.Finish()
			victim.Told("goodbye", at, 5*time.Second)
			other.Told("goodbye", at, 5*time.Second)
		},
	},
	{
		Number: "4", Name: "a publisher is killed and starts again on its port", Inject: "SIGKILL, and another process with the same tags and the same port",
		Promise: "as 3; the old entry is not taken for the new one", Directories: both, Ways: network, Struck: killed,
		Run: func(c *table.Case) {
			publisher, victim, other := c.Begin("-port", port)
			publisher.KillNow()
			at := c.Now()
			again := c.Publisher("again", c.A, "-subscribers", "2", "-port", port)
			again.Says("ready")
			victim.Late, other.Late = true, true
			victim.Flows(at, 5*time.Second)
			other.Told("vanished", at, 15*time.Second)
			c.Finish()
		},
	},
	{
		Number: "13b", Name: "a subscriber stands still for longer than it may", Inject: "SIGSTOP for 6 s, and SIGCONT",
		Promise: "the publisher is told within the timeout and a tick; the subscriber comes back within 8 s, and what it missed is told exactly", Ways: all, Quick: true,
		Struck: table.Counts{"publisher told lost": 1},
		Run: func(c *table.Case) {
			publisher, victim, other := c.Begin()
			at := c.Now()
			stop(c, syscall.SIGSTOP, victim)
			publisher.Told("lost", at, timeout+tick)
			other.Flows(c.Now(), 5*time.Second)
			c.IdleUntil(at, 6*time.Second)
			at = c.Now()
			stop(c, syscall.SIGCONT, victim)
			victim.Flows(at, reconnects)
			c.Finish()
		},
	},
	{
		Number: "13c", Name: "a publisher stands still for longer than it may", Inject: "SIGSTOP for 6 s, and SIGCONT",
		Promise: "each subscriber is told within the timeout and a tick, and back within 8 s; no message is lost but those on their way", Directories: both, Ways: all,
		Struck: table.Counts{"victim told lost": 1, "other told lost": 1},
		Run: func(c *table.Case) {
			publisher, victim, other := c.Begin()
			at := c.Now()
			stop(c, syscall.SIGSTOP, publisher)
			victim.Told("lost", at, timeout+tick)
			other.Told("lost", at, timeout+tick)
			c.IdleUntil(at, 6*time.Second)
			at = c.Now()
			stop(c, syscall.SIGCONT, publisher)
			flow(at, reconnects, victim, other)
			c.Finish()
		},
	},
	{
		Number: "51b", Name: "a publisher is to end while a subscriber stands still", Inject: "SIGSTOP of the subscriber, SIGTERM of the publisher, 3 s of which it is given to drain",
		Promise: "the publisher ends within 8 s, and its status is not 0; the other subscriber has all", Ways: all,
		Struck: table.Counts{pause: 2500},
		Run: func(c *table.Case) {
			c.Timeout = 20 * time.Second
			publisher, victim, other := c.Begin("-drain", "3s", "-bytes", "2000")
			stop(c, syscall.SIGSTOP, victim)
			table.Idle(time.Second)
			at := c.Now()
			c.Must(publisher.Signal(syscall.SIGTERM))
			publisher.Exits(1)
			c.Took("publisher ends", time.Duration(c.Now()-at), 8*time.Second)
			publisher.Killed = true
			stop(c, syscall.SIGCONT, victim)
			other.Told("goodbye", at, 5*time.Second)
			c.Finish()
			countPause(c, victim)
		},
	},
	{
		Number: "2b", Name: "subscribers are killed again and again", Inject: "ten, each killed 200 ms after its first messages",
		Promise: "the publisher has given all of their memory back: it grows by less than 32 MiB; the other subscriber misses nothing", Ways: all,
		Struck: table.Counts{"killed": 10},
		Run: func(c *table.Case) {
			publisher := c.Publisher("publisher", c.A, "-usr1")
			publisher.Says("ready")
			other := c.Subscriber("other", c.A)
			c.Go(publisher, other)
			c.Lossless()
			before := rss(c, publisher)
			for i := range 10 {
				s := c.Subscriber(fmt.Sprintf("victim%d", i), c.Far())
				s.Late = true
				s.Says("complete")
				table.Idle(200 * time.Millisecond)
				s.KillNow()
			}
			other.Flows(c.Now(), 5*time.Second)
			memory(c, publisher, before, 32<<20)
			c.Finish()
		},
	},
}
