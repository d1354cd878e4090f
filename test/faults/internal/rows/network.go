// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rows

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tagbus/test/faults/internal/bed"
	"tagbus/test/faults/internal/table"
	"tagbus/test/faults/internal/wire"
)

// reconnects is how long a subscriber takes to come back when a network works again: a try that has begun before
// has 5 s to fail.
const reconnects = 8 * time.Second

// cached are the flags of a publisher that keeps the messages of 5 s, and has the memory for it.
var cached = []string{"-cache", "5000", "-pool-bytes", strconv.Itoa(256 << 20)}

// networks are the rows of wires and addresses.
var networks = []table.Row{
	{
		Number: "5", Name: "two hosts do not reach each other", Inject: "all packets dropped at the host of the subscriber, 12 s",
		Promise: "both ends are told within 5 s; the subscriber comes back within 8 s of the end, and what it missed is told exactly",
		Ways:    network, Directories: both, Needs: []string{"nft"}, Quick: true, Struck: table.Counts{dropped: 1},
		Run: func(c *table.Case) { partition(c, "input output") },
	},
	{
		Number: "6", Name: "packets go one way only", Inject: "all packets to the host of the subscriber dropped, 12 s",
		Promise: "as 5", Ways: network, Needs: []string{"nft"}, Struck: table.Counts{dropped: 1},
		Run: func(c *table.Case) { partition(c, "input") },
	},
	{
		Number: "6b", Name: "packets go the other way only", Inject: "all packets from the host of the subscriber dropped, 12 s",
		Promise: "as 5", Ways: network, Needs: []string{"nft"}, Struck: table.Counts{dropped: 1},
		Run: func(c *table.Case) { partition(c, "output") },
	},
	{
		Number: "7", Name: "a network loses 1 of 100 packets", Inject: "at random, both ways, 5 s",
		Promise: "no connection ends, and no message is lost but by a policy", Ways: network, Needs: []string{"nft"}, Struck: table.Counts{dropped: 5},
		Run: func(c *table.Case) { lossy(c, 1, 5*time.Second, true) },
	},
	{
		Number: "7b", Name: "a network loses 10 of 100 packets", Inject: "at random, both ways, 5 s",
		Promise: "messages flow within 8 s of the end, and all are accounted for", Ways: network, Needs: []string{"nft"}, Quick: true, Struck: table.Counts{dropped: 20},
		Run: func(c *table.Case) { lossy(c, 10, 5*time.Second, false) },
	},
	{
		Number: "7c", Name: "a network loses 50 of 100 packets", Inject: "at random, both ways, 10 s",
		Promise: "as 7b", Ways: network, Needs: []string{"nft"}, Struck: table.Counts{dropped: 20},
		Run: func(c *table.Case) { lossy(c, 50, 10*time.Second, false) },
	},
	{
		Number: "8", Name: "a network delays packets by 200 ms", Inject: "a tunnel between the hosts, both ways, 10 s", Promise: "no connection ends, and no message is lost but by a policy; messages flow within 8 s of the end",
		Ways: network, Needs: []string{"ip"}, Missing: lacksTunnels, Struck: table.Counts{delayed: 100},
		Run: func(c *table.Case) { overWire(c, 10*time.Second, wire.Config{Delay: 200 * time.Millisecond}) },
	},
	{
		Number: "9", Name: "a network reorders and doubles packets", Inject: "a tunnel between the hosts, both ways, 5 s: a delay of 10 ms, 25 of 100 without it, 10 of 100 twice",
		Promise: "no connection ends; no message is doubled or out of order; messages flow within 8 s of the end", Ways: network, Needs: []string{"ip"}, Missing: lacksTunnels,
		Struck: table.Counts{delayed: 100, "packets that overtook others": 50, "packets that came twice": 20},
		Run: func(c *table.Case) {
			overWire(c, 5*time.Second, wire.Config{Delay: 10 * time.Millisecond, Early: 25, Twice: 10})
		},
	},
	{
		Number: "10", Name: "a wire of 8 Mb/s, and six times as much to send", Inject: "tbf at the host of the publisher, 6 s",
		Promise: "the publisher waits for block, and the others lose and tell it; its memory grows by less than 16 MiB: the six queues of a subscriber take 7",
		Ways:    network, Needs: []string{"tc"}, Quick: true, Struck: full,
		Run: func(c *table.Case) {
			c.Timeout = 20 * time.Second
			publisher, victim, other := c.Begin("-bytes", "1000")
			before := rss(c, publisher)
			c.Must(c.Run("tc", "-n", c.A.Name, "qdisc", "add", "dev", "wire", "root", "tbf", "rate", "8mbit", "burst", "32kbit", "latency", "400ms"))
			table.Idle(6 * time.Second)
			memory(c, publisher, before, 16<<20)
			at := c.Now()
			c.Must(c.Run("tc", "-n", c.A.Name, "qdisc", "del", "dev", "wire", "root"))
			flow(at, reconnects, victim, other)
			c.Finish()
			countFull(c, publisher, victim)
		},
	},
	{
		Number: "11", Name: "a host is gone for good, with its subscriber", Inject: "all packets dropped, then SIGKILL",
		Promise: "the publisher ends the connection within the timeout; the other subscriber goes on",
		Ways:    network, Needs: []string{"nft"}, Struck: table.Counts{dropped: 1, "killed": 1},
		Run: func(c *table.Case) {
			publisher, victim, other := c.Begin()
			heal := drop(c, c.B, "input output", "")
			at := victim.KillNow()
			publisher.Told("lost", at, timeout+tick)
			other.Flows(at, reconnects)
			heal() // it counts
			c.Finish()
		},
	},
	{
		Number: "12", Name: "connections are reset under load", Inject: "ss -K, five times in a second",
		Promise: "both ends are told within 1 s, and the subscriber is back within 8 s",
		Ways:    network, Needs: []string{"ss"}, Quick: true, Struck: table.Counts{resets: 2, "victim told lost": 1},
		Run: func(c *table.Case) {
			c.Timeout = time.Minute // what tells is the reset
			publisher, victim, other := c.Begin()
			at := c.Now()
			for range 5 {
				reset(c)
				table.Idle(200 * time.Millisecond)
			}
			publisher.Told("lost", at, tick)
			victim.Told("lost", at, tick)
			flow(at, reconnects, victim, other)
			c.Finish()
		},
	},
	{
		Number: "12b", Name: "a connection is reset, and the publisher keeps messages", Inject: "ss -K; -cache of 5 s",
		Promise: "block and disconnect lose nothing at all: what was on its way is sent again",
		Ways:    network, Needs: []string{"ss"}, Struck: table.Counts{resets: 1, "victim told lost": 1},
		Run: func(c *table.Case) {
			c.Timeout = time.Minute // what tells is the reset
			_, victim, other := c.Begin(cached...)
			c.Lossless()
			at := c.Now()
			reset(c)
			victim.Told("lost", at, tick)
			flow(at, reconnects, victim, other)
			c.Finish()
		},
	},
	{
		Number: "net 1", Name: "a link goes down", Inject: "ip link set down at the host of the subscriber, 6 s", Promise: "as 5",
		Ways: network, Struck: table.Counts{"victim told lost": 1, "publisher told lost": 1},
		Run: func(c *table.Case) {
			publisher, victim, other := c.Begin()
			at := c.Now()
			c.Must(c.IP("-n B link set wire down"))
			publisher.Told("lost", at, timeout+tick)
			victim.Told("lost", at, timeout+tick)
			c.IdleUntil(at, 6*time.Second)
			c.Must(c.IP("-n B link set wire up"))
			flow(c.Now(), reconnects, victim, other)
			c.Finish()
		},
	},
	{
		Number: "net 2", Name: "the address of a publisher changes", Inject: "ip address del and add at its host, which it listens on all addresses of",
		Promise: "it announces the new one, and the subscriber is back within 15 s", Directories: []string{table.File},
		Struck: table.Counts{"publisher told announced": 1, "victim told lost": 1},
		Run: func(c *table.Case) {
			publisher := c.Publisher("publisher", bed.Host{Name: c.A.Name, Address: "0.0.0.0"}, "-usr1", "-subscribers", "1")
			publisher.Says("ready")
			victim := c.Subscriber("victim", c.B)
			c.Go(publisher, victim)
			at := c.Now()
			c.Must(c.IP("-n A address del " + bed.AddressA + "/24 dev wire"))
			c.Must(c.IP("-n A address add " + bed.Later + "/24 dev wire"))
			publisher.Told("announced", at, 15*time.Second)
			victim.Told("lost", at, 15*time.Second)
			victim.Flows(at, 15*time.Second)
			c.Finish()
		},
	},
}

// partition cuts hosts off from each other.
func partition(c *table.Case, hooks string) {
	publisher, victim, other := c.Begin()
	at := c.Now()
	heal := drop(c, c.B, hooks, "")
	publisher.Told("lost", at, timeout+2*tick) // one that hears the other is told when that one has given up
	victim.Told("lost", at, timeout+2*tick)
	other.Flows(c.Now(), reconnects)
	c.IdleUntil(at, 12*time.Second)
	heal()
	healed := c.Now()
	victim.Flows(healed, reconnects)
	c.Finish()
}

// reset ends the connections between the hosts, and counts them.
func reset(c *table.Case) {
	ended, err := c.Output(c.B, "ss", "-KHtn", "dst", bed.AddressA)
	c.Must(err)
	c.Count(resets, strings.Count(ended, "\n"))
}

const resets = "connections reset"

// lossy makes a network lose packets for a while.
func lossy(c *table.Case, percent int, d time.Duration, keeps bool) {
	_, victim, other := c.Begin()
	at := c.Now()
	heal := drop(c, c.B, "input output", fmt.Sprintf("numgen random mod 100 < %d", percent))
	table.Idle(d)
	heal()
	flow(c.Now(), reconnects, victim, other)
	if keeps {
		victim.NotTold("lost", at)
		c.Lossless()
	}
	c.Finish()
}

// delayed counts what a slow wire did.
const delayed = "packets delayed"

// overWire leads all packets over a wire, for a while.
func overWire(c *table.Case, d time.Duration, cfg wire.Config) {
	_, victim, other := c.Begin()
	at := c.Now()
	w, err := wire.Over(c.Bed, cfg)
	c.Must(err)
	table.Idle(d)
	c.Must(w.Close())
	flow(c.Now(), reconnects, victim, other)
	n := w.Counts()
	c.Count(delayed, int(n.Delayed))
	if cfg.Early > 0 {
		c.Count("packets that overtook others", int(n.Early))
		c.Count("packets that came twice", int(n.Twice))
	}
	for _, kind := range []string{"lost", "vanished"} {
		victim.NotTold(kind, at)
		other.NotTold(kind, at)
	}
	c.Lossless()
	c.Finish()
}
