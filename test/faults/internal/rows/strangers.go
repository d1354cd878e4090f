// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rows

import (
	"fmt"
	"strconv"
	"syscall"
	"time"

	"tagbus/test/faults/internal/bed"
	"tagbus/test/faults/internal/table"
)

// The publisher of these rows listens at a port that strangers know.
const (
	port    = "7001"
	address = bed.AddressA + ":" + port
)

// strangers are the rows of connections that are not from programs of the bus.
var strangers = []table.Row{
	{
		Number: "31", Name: "10,000 idle connections", Inject: "from the host of the subscriber, 8 s",
		Promise: "a subscriber that comes then is let in within 5 s; the publisher grows by less than 128 MiB; no connection of the bus ends",
		Ways:    network, Quick: true,
		Run: func(c *table.Case) {
			crowd(c, "idle", 10000, 8*time.Second, 128<<20)
		},
	},
	{
		Number: "32", Name: "1,000 connections at once, again and again", Inject: "from the host of the subscriber, five times",
		Promise: "no connection of the bus ends; a subscriber that comes then is let in within 5 s", Ways: network,
		Run: func(c *table.Case) {
			_, victim, other := c.Begin("-port", port)
			c.Lossless()
			at := c.Now()
			for i := range 5 {
				s := c.Strangers(fmt.Sprintf("strangers%d", i), c.B, address, "-n", "1000")
				s.Says("dialed")
				s.Kill()
			}
			quiet(c, at, victim, other)
		},
	},
	{
		Number: "33", Name: "1,000 connections that say a byte each second", Inject: "from the host of the subscriber, until the publisher closes them",
		Promise: "each is closed within 10 s; no connection of the bus ends", Ways: network, Quick: true,
		Run: func(c *table.Case) { talk(c, "slow", 1000) },
	},
	{
		Number: "34", Name: "random bytes", Inject: "4 KiB on each of 500 connections", Promise: "closed within 10 s; no connection of the bus ends",
		Ways: network, Run: func(c *table.Case) { talk(c, "random", 500) },
	},
	{
		Number: "34b", Name: "HTTP on the port of a publisher", Inject: "500 requests", Promise: "as 34",
		Ways: network, Run: func(c *table.Case) { talk(c, "http", 500) },
	},
	{
		Number: "34c", Name: "a TLS hello on the port of a publisher", Inject: "500 handshakes without a certificate", Promise: "as 34",
		Ways: network, Run: func(c *table.Case) { talk(c, "tls", 500) },
	},
	{
		Number: "35", Name: "connections that end in the middle of a message", Inject: "12 of 300 bytes of a hello on each of 500 connections, and FIN", Promise: "as 34",
		Ways: network, Run: func(c *table.Case) { talk(c, "cut", 500) },
	},
	{
		Number: "36", Name: "lengths that cannot be", Inject: "64 bytes of 0xff on each of 500 connections", Promise: "as 34; the publisher grows by less than 64 MiB",
		Ways: network, Run: func(c *table.Case) { talk(c, "lengths", 500) },
	},
	{
		Number: "18", Name: "a publisher has no descriptors left", Inject: "a limit of 64 descriptors, and 200 connections, 5 s",
		Promise: "it takes less than half a processor for that; connections stay; a subscriber that comes afterwards is let in within 8 s",
		Ways:    network, Needs: []string{"prlimit"}, Quick: true,
		Run: func(c *table.Case) {
			publisher := c.BeforePublisher("publisher", c.A, []string{"prlimit", "--nofile=64", "--"}, nil, "-usr1", "-subscribers", "2", "-port", port, "-rate", "200")
			publisher.Says("ready")
			victim, other := c.Subscriber("victim", c.Far()), c.Subscriber("other", c.A)
			c.Go(publisher, victim, other)
			c.Lossless()
			at, before := c.Now(), cpu(c, publisher)
			s := c.Strangers("strangers", c.B, address, "-n", "200", "-mode", "slow")
			s.Says("ready")
			table.Idle(5 * time.Second)
			share(c, publisher, before, at, 0.5)
			s.Kill()
			quiet(c, c.Now(), victim, other)
		},
	},
}

// quiet lets another subscriber in, and ends a case in which no connection may have ended.
func quiet(c *table.Case, at int64, victim, other *table.Program) {
	begun := c.Now()
	late := c.Subscriber("late", c.B)
	late.Late = true
	late.Told("complete", begun, reconnects)
	flow(c.Now(), 5*time.Second, victim, other, late)
	for _, p := range []*table.Program{victim, other} {
		p.NotTold("lost", at)
	}
	c.Note("longest pause of the other subscriber %s", table.Short(other.MaxPause(1)))
	c.Finish()
}

// crowd is connections that stay for a while.
func crowd(c *table.Case, mode string, n int, d time.Duration, bound int64) {
	publisher, victim, other := c.Begin("-port", port)
	c.Lossless()
	at, before := c.Now(), rss(c, publisher)
	s := c.Strangers("strangers", c.B, address, "-n", strconv.Itoa(n), "-mode", mode)
	s.Says("dialed")
	table.Idle(d)
	memory(c, publisher, before, bound)
	quiet(c, at, victim, other)
}

// talk is connections that the publisher closes.
func talk(c *table.Case, mode string, n int) {
	const promise = 10 * time.Second
	publisher, victim, other := c.Begin("-port", port)
	c.Lossless()
	at, before := c.Now(), rss(c, publisher)
	s := c.Strangers("strangers", c.B, address, "-n", strconv.Itoa(n), "-mode", mode)
	l := s.Told("closed", at, promise+tick)
	c.Note("%d of %d closed by the publisher, %d answered", l.Count, n, l.Answered)
	memory(c, publisher, before, 64<<20)
	quiet(c, at, victim, other)
}

// share notes how much of a processor a process took since a time, and fails beyond a bound.
func share(c *table.Case, p *table.Program, before time.Duration, since int64, bound float64) {
	took := float64(cpu(c, p)-before) / float64(c.Now()-since)
	c.Note("%s took %.0f %% of a processor (%.0f %%)", p.Name, 100*took, 100*bound)
	if took > bound {
		c.Fail("%s took %.0f %% of a processor, promised at most %.0f %%", p.Name, 100*took, 100*bound)
	}
}

// stop stops programs, or has them go on.
func stop(c *table.Case, s syscall.Signal, programs ...*table.Program) {
	for _, p := range programs {
		c.Must(p.Signal(s))
	}
}
