// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"syscall"
	"time"

	"tagbus/test/faults/internal/table"
)

// processes are the rows of processes that end, or stand still.
func processes() []table.Row {
	return []table.Row{
		{
			Number: "1", Name: "a publisher is killed under load", Inject: "SIGKILL",
			Promise:     "each subscriber is told within 1 s that the connection is lost, and that the publisher has vanished when its entry has expired; no message comes in part",
			Directories: both, Ways: all, Quick: true,
			Run: func(c *table.Case) {
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
			Ways:    all, Quick: true,
			Run: func(c *table.Case) {
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
			Directories: both, Ways: all, Quick: true,
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
			Ways:    all, Quick: true,
			Run: func(c *table.Case) {
				_, victim, other := c.Begin("-timeout", "20s", "-bytes", "2000")
				c.Must(victim.Signal(syscall.SIGSTOP))
				table.Idle(2 * time.Second)
				at := c.Now()
				c.Must(victim.Signal(syscall.SIGCONT))
				victim.Flows(at, 5*time.Second)
				other.Flows(at, 5*time.Second)
				c.Finish()
			},
		},
		{
			Number: "51", Name: "a publisher is to end under load", Inject: "SIGTERM",
			Promise:     "it has ended within 5 s, with status 0, and each subscriber has all and is told goodbye",
			Directories: both, Ways: all, Quick: true,
			Run: func(c *table.Case) {
				_, victim, other := c.Begin()
				c.Lossless()
				at := c.Now()
				c.Finish()
				victim.Told("goodbye", at, 5*time.Second)
				other.Told("goodbye", at, 5*time.Second)
			},
		},
	}
}
