// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rows

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"tagbus/test/faults/internal/table"
)

// hosts are the rows of processors, memory, system calls and clocks.
var hosts = []table.Row{
	{
		Number: "14", Name: "a handler is slow", Inject: "3 ms for each message of a tag of 1,000 a second, 4 s", Promise: "the publisher waits for block, and the other subscriber goes on; all are accounted for",
		Ways: all, Struck: full,
		Run: func(c *table.Case) {
			c.Timeout = 20 * time.Second
			publisher := c.Publisher("publisher", c.A, "-usr1", "-subscribers", "2", "-bytes", "4000")
			publisher.Says("ready")
			victim, other := c.Subscriber("victim", c.Far(), "-slow", "3ms"), c.Subscriber("other", c.A)
			c.Go(publisher, victim, other)
			table.Idle(4 * time.Second)
			other.Flows(c.Now(), 5*time.Second)
			c.Finish()
			countFull(c, publisher, victim)
		},
	},
	{
		Number: "16", Name: "a handler panics", Inject: "at each 100th message of a tag", Promise: "it is told, and costs no other message; no connection ends", Ways: all,
		Struck: table.Counts{"victim told panic": 1},
		Run: func(c *table.Case) {
			publisher := c.Publisher("publisher", c.A, "-usr1", "-subscribers", "2")
			publisher.Says("ready")
			victim, other := c.Subscriber("victim", c.Far(), "-panic-every", "100"), c.Subscriber("other", c.A)
			c.Go(publisher, victim, other)
			c.Lossless()
			victim.ToldWhy("problem", "panic", 0, 5*time.Second)
			flow(c.Now(), 5*time.Second, victim, other)
			victim.NotTold("lost", 0)
			c.Finish()
		},
	},
	{
		Number: "19", Name: "system calls are interrupted", Inject: "EINTR at each 5th epoll_pwait and read of the subscriber", Promise: "no message is lost, and no connection ends",
		Needs: []string{"strace"}, Ways: network, Struck: table.Counts{"calls failed": 10},
		Run: func(c *table.Case) {
			failing(c, "epoll_pwait,read:error=EINTR:when=5+5")
		},
	},
	{
		Number: "20", Name: "the system has no memory for what is sent", Inject: "ENOBUFS at each 20th sendmsg, sendto and writev of the publisher", Promise: "it is tried again: no message is lost, and no connection ends",
		Needs: []string{"strace"}, Ways: network, Struck: table.Counts{"calls failed": 10},
		Run: func(c *table.Case) {
			failingPublisher(c, "sendmsg,writev,sendto:error=ENOBUFS:when=20+20")
		},
	},
	{
		Number: "22", Name: "a publisher is killed for its memory", Inject: "a cgroup of 64 MiB, a pool of 512 MiB, and a subscriber that stands still", Promise: "as 1",
		Missing: lacksCgroup, Struck: table.Counts{"killed for its memory": 1},
		Run: func(c *table.Case) {
			c.Timeout = time.Minute // what tells is the end of the connection
			group := filepath.Join(cgroup, fmt.Sprintf("tbfault-%d-%s", os.Getpid(), c.A.Name))
			c.Must(os.Mkdir(group, 0o755))
			c.Undo(func() { _ = os.Remove(group) })
			c.Must(os.WriteFile(filepath.Join(group, "memory.limit_in_bytes"), []byte(strconv.Itoa(64<<20)), 0o600))
			publisher := c.Publisher("publisher", c.A, "-usr1", "-subscribers", "2", "-bytes", "60000", "-rate", "100",
				"-queue-bytes", strconv.Itoa(200<<20), "-pool-bytes", strconv.Itoa(512<<20))
			publisher.Says("ready")
			victim, other := c.Subscriber("victim", c.B), c.Subscriber("other", c.A)
			c.Go(publisher, victim, other)
			c.Must(os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(publisher.PID())), 0o600)) // what it has so far does not count
			stop(c, syscall.SIGSTOP, victim)
			c.Until("the publisher is killed", 30*time.Second, func() bool {
				select {
				case <-publisher.Ended():
					return true
				default:
					return false
				}
			})
			publisher.Killed = true
			at := c.Now()
			text, err := os.ReadFile(filepath.Join(group, "memory.oom_control"))
			c.Must(err)
			c.Count("killed for its memory", sum(c, `oom_kill (\d+)`, string(text)))
			stop(c, syscall.SIGCONT, victim)
			other.Told("lost", at-int64(tick), 2*tick)
			victim.Told("lost", at, tick)
			for _, s := range []*table.Program{victim, other} {
				s.Told("vanished", at-int64(tick), 15*time.Second)
			}
			c.Finish()
		},
	},
	{
		Number: "30", Name: "hosts count time from another beginning", Inject: "a subscriber in a time namespace, 11 days ahead", Promise: "nothing happens",
		Needs: []string{"unshare"}, Directories: both, Ways: all, Struck: table.Counts{"s between their clocks": 900000},
		Run: func(c *table.Case) {
			publisher := c.Publisher("publisher", c.A, "-usr1", "-subscribers", "2")
			publisher.Says("ready")
			victim := c.Before("victim", c.Far(), []string{"unshare", "--time", "--monotonic", "1000000", "--boottime", "1000000", "--"}, nil)
			other := c.Subscriber("other", c.A)
			c.Go(publisher, victim, other)
			c.Lossless()
			c.Count("s between their clocks", int(time.Duration(victim.Says("ready").At-c.Now()).Seconds()))
			table.Idle(5 * time.Second)
			flow(c.Now(), 5*time.Second, victim, other)
			publisher.NotTold("lost", 0)
			c.Finish()
		},
	},
	{
		Number: "30b", Name: "all processes stand still, as on a host that sleeps", Inject: "SIGSTOP of all for 8 s, and SIGCONT", Promise: "no connection ends: a late tick is forgiven",
		Ways: all, Quick: true, Struck: table.Counts{pause: 7000},
		Run: func(c *table.Case) {
			publisher, victim, other := c.Begin()
			c.Lossless()
			stop(c, syscall.SIGSTOP, publisher, victim, other)
			table.Idle(8 * time.Second)
			at := c.Now()
			stop(c, syscall.SIGCONT, publisher, victim, other)
			flow(at, 5*time.Second, victim, other)
			victim.NotTold("lost", at)
			publisher.NotTold("lost", at)
			countPause(c, victim)
			c.Finish()
		},
	},
	{
		Number: "49", Name: "the garbage collector never rests, and processors are taken", Inject: "GOGC=1 for all, and four processes that only turn, 8 s", Promise: "with the default heartbeats no peer is taken for dead",
		Ways: all, Alone: true, Struck: table.Counts{"ms of processors taken": 2000},
		Run: func(c *table.Case) {
			env, beats := []string{"GOGC=1"}, []string{"-heartbeat", "2s", "-timeout", "6s"}
			publisher := c.BeforePublisher("publisher", c.A, nil, env, append(beats, "-usr1", "-subscribers", "2")...)
			publisher.Says("ready")
			victim, other := c.Before("victim", c.Far(), nil, env, beats...), c.Before("other", c.A, nil, env, beats...)
			c.Go(publisher, victim, other)
			c.Lossless()
			var burners []*table.Program
			for i := range 4 {
				burners = append(burners, c.Command(fmt.Sprintf("burner%d", i), c.A, "sh", "-c", "while :; do :; done"))
			}
			table.Idle(8 * time.Second)
			for _, burner := range burners {
				c.Count("ms of processors taken", int(cpu(c, burner).Milliseconds()))
			}
			flow(c.Now(), 5*time.Second, victim, other)
			publisher.NotTold("lost", 0)
			c.Note("longest pause %s", table.Short(max(victim.MaxPause(1), other.MaxPause(1))))
			c.Finish()
		},
	},
	{
		Number: "39", Name: "subscriptions come and go all the time", Inject: "1,000 tags subscribed and unsubscribed without a pause, 6 s", Promise: "the publisher grows by less than 32 MiB; no message of the others is lost",
		Ways: all, Struck: table.Counts{"times subscribed": 100},
		Run: func(c *table.Case) {
			publisher := c.Publisher("publisher", c.A, "-usr1", "-subscribers", "2", "-serves", "1000")
			publisher.Says("ready")
			victim, other := c.Subscriber("victim", c.Far(), "-churn"), c.Subscriber("other", c.A)
			c.Go(publisher, victim, other)
			c.Lossless()
			before := rss(c, publisher)
			table.Idle(6 * time.Second)
			memory(c, publisher, before, 32<<20)
			flow(c.Now(), 5*time.Second, victim, other)
			victim.NotTold("churn failed", 0)
			c.Finish()
			c.Count("times subscribed", victim.Says("ended").Count)
		},
	},
}

// cgroup is where groups of processes have limits of memory.
const cgroup = "/sys/fs/cgroup/memory"

// lacksCgroup returns why there are no such limits, or "".
func lacksCgroup() string {
	if _, err := os.Stat(filepath.Join(cgroup, "memory.limit_in_bytes")); err != nil {
		return "needs the memory controller of cgroups, version 1"
	}
	return ""
}

// failing makes system calls of a subscriber fail.
func failing(c *table.Case, what string) {
	publisher := c.Publisher("publisher", c.A, "-usr1", "-subscribers", "2", "-rate", "200")
	publisher.Says("ready")
	victim, other := c.Before("victim", c.Far(), injected(c, what), nil), c.Subscriber("other", c.A)
	goesOn(c, publisher, victim, other)
}

// failingPublisher makes system calls of a publisher fail.
func failingPublisher(c *table.Case, what string) {
	publisher := c.BeforePublisher("publisher", c.A, injected(c, what), nil, "-usr1", "-subscribers", "2", "-rate", "200")
	publisher.Says("ready")
	victim, other := c.Subscriber("victim", c.Far()), c.Subscriber("other", c.A)
	goesOn(c, publisher, victim, other)
}

func goesOn(c *table.Case, publisher, victim, other *table.Program) {
	c.Go(publisher, victim, other)
	c.Lossless()
	table.Idle(4 * time.Second)
	flow(c.Now(), 5*time.Second, victim, other)
	publisher.NotTold("lost", 0)
	c.Finish()
	countFailed(c)
}
