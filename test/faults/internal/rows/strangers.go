// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rows

import (
	"fmt"
	"os"
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
		Ways:    network, Quick: true, Struck: table.Counts{connections: 10000},
		Run: func(c *table.Case) {
			publisher, victim, other := known(c)
			at, before := c.Now(), rss(c, publisher)
			come(c, "strangers", address, "idle", 10000)
			letIn(c, found, victim, other)
			c.IdleUntil(at, 8*time.Second)
			memory(c, publisher, before, 128<<20)
			quiet(c, at, victim, other)
		},
	},
	{
		Number: "32", Name: "1,000 connections at once, again and again", Inject: "from the host of the subscriber, five times",
		Promise: "no connection of the bus ends; a subscriber that comes then is let in within 5 s", Ways: network,
		Struck: table.Counts{connections: 5000},
		Run: func(c *table.Case) {
			_, victim, other := known(c)
			at := c.Now()
			for i := range 5 {
				come(c, fmt.Sprintf("strangers%d", i), address, "idle", 1000).Kill()
			}
			letIn(c, found, victim, other)
			quiet(c, at, victim, other)
		},
	},
	{
		Number: "33", Name: "1,000 connections that say a byte of a hello each second", Inject: "from the host of the subscriber, until the publisher closes them",
		Promise: "as 34", Ways: network, Quick: true, Struck: table.Counts{connections: 1000},
		Run: func(c *table.Case) { talk(c, "slow", 1000) },
	},
	{
		Number: "34", Name: "random bytes", Inject: "4 KiB on each of 500 connections", Promise: "each is closed within 11 s; no connection of the bus ends; the publisher grows by less than 64 MiB",
		Ways: network, Struck: table.Counts{connections: 500}, Run: func(c *table.Case) { talk(c, "random", 500) },
	},
	{
		Number: "34b", Name: "HTTP on the port of a publisher", Inject: "500 requests", Promise: "as 34",
		Ways: network, Struck: table.Counts{connections: 500}, Run: func(c *table.Case) { talk(c, "http", 500) },
	},
	{
		Number: "34c", Name: "a TLS hello on the port of a publisher without TLS", Inject: "500 handshakes that are begun", Promise: "as 34",
		Struck: table.Counts{connections: 500}, Run: func(c *table.Case) { talk(c, "tls", 500) },
	},
	{
		Number: "34d", Name: "a handshake without a certificate", Inject: "500 handshakes of TLS, as far as it needs no certificate", Promise: "as 34",
		Ways: []string{table.TLS}, Struck: table.Counts{connections: 500, handshakes: 500}, Run: func(c *table.Case) { talk(c, "tls", 500) },
	},
	{
		Number: "35", Name: "connections that end in the middle of a message", Inject: "12 of 300 bytes of a hello on each of 500 connections, and FIN", Promise: "as 34",
		Ways: network, Struck: table.Counts{connections: 500}, Run: func(c *table.Case) { talk(c, "cut", 500) },
	},
	{
		Number: "36", Name: "lengths that cannot be", Inject: "64 bytes of 0xff on each of 500 connections", Promise: "as 34",
		Ways: network, Struck: table.Counts{connections: 500}, Run: func(c *table.Case) { talk(c, "lengths", 500) },
	},
	{
		Number: "18", Name: "a publisher has no descriptors left", Inject: "a limit of 64 descriptors, and 200 connections, 5 s",
		Promise: "it takes less than half a processor for that; connections stay; a subscriber that comes afterwards is let in within 8 s",
		Ways:    network, Needs: []string{"prlimit"}, Quick: true, Struck: table.Counts{connections: 200, "descriptors in use": 60},
		Run: func(c *table.Case) {
			c.Timeout = patient
			publisher := c.BeforePublisher("publisher", c.A, []string{"prlimit", "--nofile=64", "--"}, nil, "-usr1", "-subscribers", "2", "-port", port, "-rate", "200")
			publisher.Says("ready")
			victim, other := c.Subscriber("victim", c.Far()), c.Subscriber("other", c.A)
			c.Go(publisher, victim, other)
			c.Lossless()
			at, before := c.Now(), cpu(c, publisher)
			s, most := come(c, "strangers", address, "idle", 200), 0
			for c.Now() < at+int64(5*time.Second) {
				most = max(most, descriptors(c, publisher))
				table.Idle(50 * time.Millisecond)
			}
			c.Count("descriptors in use", most)
			share(c, publisher, before, at, 0.5)
			s.Kill()
			letIn(c, reconnects, victim, other)
			quiet(c, at, victim, other)
		},
	},
}

// patient is the timeout of the rows of strangers: they take processors, and no connection may end because of that.
const patient = 20 * time.Second

// known is Begin with a publisher at the port that strangers know.
func known(c *table.Case) (publisher, victim, other *table.Program) {
	c.Timeout = patient
	publisher, victim, other = c.Begin("-port", port)
	c.Lossless()
	return publisher, victim, other
}

// letIn starts another subscriber, and waits until messages come to all.
func letIn(c *table.Case, within time.Duration, programs ...*table.Program) {
	begun := c.Now()
	s := c.Subscriber("late", c.Far())
	s.Late = true
	s.Told("complete", begun, within)
	flow(c.Now(), 5*time.Second, append(programs, s)...)
}

// quiet ends a case in which no connection may have ended since a time.
func quiet(c *table.Case, at int64, victim, other *table.Program) {
	for _, p := range []*table.Program{victim, other} {
		p.NotTold("lost", at)
	}
	c.Note("longest pause of the other subscriber %s", table.Short(other.MaxPause(1)))
	c.Finish()
}

// What come and talk count.
const (
	connections = "connections of strangers"
	handshakes  = "handshakes of strangers"
)

// come opens connections from the host of the subscriber, waits until each is open or refused, and counts the open
// ones.
func come(c *table.Case, name, to, mode string, n int) *table.Program {
	s := c.Strangers(name, c.B, to, "-n", strconv.Itoa(n), "-mode", mode)
	c.Count(connections, s.Says("dialed").Count)
	return s
}

// talk is connections that the publisher closes.
func talk(c *table.Case, mode string, n int) {
	publisher, victim, other := known(c)
	at, before := c.Now(), rss(c, publisher)
	l := come(c, "strangers", address, mode, n).Says("closed")
	c.Took(fmt.Sprintf("%d of %d closed by the publisher", l.Count, n), time.Duration(l.Took), 11*time.Second)
	if l.Count < n {
		c.Fail("%d of %d connections are closed by the publisher, promised each", l.Count, n)
	}
	c.Count(handshakes, l.Handshakes)
	memory(c, publisher, before, 64<<20)
	letIn(c, found, victim, other)
	quiet(c, at, victim, other)
}

// descriptors returns how many a process has open.
func descriptors(c *table.Case, p *table.Program) int {
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID()))
	c.Must(err)
	return len(open)
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
