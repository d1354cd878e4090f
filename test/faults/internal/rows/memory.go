// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rows

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"tagbus/test/faults/internal/table"
)

// sharedMemory are the rows of the transport within a host. Each program may use TCP, too.
var sharedMemory = []table.Row{
	row("shm 1", "a subscriber gets no shared memory", "a filter of system calls without memfd_create", noMemory, byTCP, func(c *table.Case) {
		subscriberWith(c, nil, says, "-refuse", "memfd")
	}),
	row("shm 2", "a publisher gets no shared memory", "a filter of system calls without memfd_create", noMemory, byTCP, func(c *table.Case) {
		publisherWith(c, nil, table.TCP, says, "-refuse", "memfd")
	}),
	row("shm 3", "the system is too old for the seals, at a subscriber", "F_ADD_SEALS fails with EINVAL, as F_SEAL_FUTURE_WRITE before Linux 5.1", noMemory, byTCP, func(c *table.Case) {
		subscriberWith(c, nil, says, "-refuse", "seals")
	}),
	row("shm 4", "the system is too old for the seals, at a publisher", "as shm 3", noMemory, byTCP, func(c *table.Case) {
		publisherWith(c, nil, table.TCP, says, "-refuse", "seals")
	}),
	row("shm 5", "a host has no memory left for a pool", "/proc/meminfo of the publisher says 1 MiB", tcp, byTCP, func(c *table.Case) {
		fake := filepath.Join(c.Dir, "meminfo")
		c.Must(os.WriteFile(fake, []byte("MemTotal: 65536 kB\nMemFree: 1024 kB\nMemAvailable: 1024 kB\nSwapFree: 0 kB\n"), 0o600))
		publisherWith(c, mounted("mount --bind "+fake+" /proc/meminfo"), table.TCP, "")
	}, "unshare"),
	row("shm 6", "a program has no /proc", "an empty file system over that of the subscriber", "messages go by shared memory or TCP", table.Counts{"programs without /proc": 1}, func(c *table.Case) {
		publisher, victim, other := beside(c, mounted("mount -t tmpfs tmpfs /proc"))
		by(c, victim, "")
		files, err := os.ReadDir(fmt.Sprintf("/proc/%d/root/proc", victim.PID()))
		c.Must(err)
		if len(files) == 0 {
			c.Count("programs without /proc", 1)
		}
		onward(c, publisher, victim, other)
	}, "unshare"),
	row("shm 7", "a program is of another run of the system", "another boot_id at the subscriber, and the same folder", tcp, byTCP, func(c *table.Case) {
		fake := filepath.Join(c.Dir, "boot")
		c.Must(os.WriteFile(fake, []byte("01234567-89ab-cdef-0123-456789abcdef\n"), 0o600))
		subscriberWith(c, mounted("mount --bind "+fake+" /proc/sys/kernel/random/boot_id"), "")
	}, "unshare"),
	row("shm 8", "a container shares the network, and not the folder of the sockets", "an empty file system over that of the subscriber", tcp, byTCP, func(c *table.Case) {
		folder := filepath.Join(c.Dir, "shm")
		subscriberWith(c, mounted("mount -t tmpfs tmpfs "+folder), "")
	}, "unshare"),
	row("shm 9", "a container shares the folder of the sockets, and no processes", "a namespace of processes of the subscriber", "messages go by shared memory", apart, func(c *table.Case) {
		publisher, victim, other := beside(c, []string{"unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "--"})
		by(c, victim, table.SHM)
		countApart(c, "pid_for_children", publisher, victim)
		onward(c, publisher, victim, other)
	}, "unshare"),
	row("shm 10", "a container shares the folder of the sockets, and no network", "the subscriber on the other host", "messages go by shared memory", apart, func(c *table.Case) {
		publisher := c.Publisher("publisher", c.A, "-usr1", "-subscribers", "2")
		publisher.Says("ready")
		victim, other := c.Subscriber("victim", c.B), c.Subscriber("other", c.A)
		by(c, victim, table.SHM)
		countApart(c, "net", publisher, victim)
		onward(c, publisher, victim, other)
	}),
	row("shm 11", "a program has no descriptors left", "a limit of 5 at the subscriber before there is a publisher, which is raised after 3 s", "it is told, and recovers by itself within 15 s", table.Counts{"victim told too many open files": 1}, func(c *table.Case) {
		limit := func(n string) {
			c.Must(c.Run("prlimit", "--pid", strconv.Itoa(c.Subscribers()[0].PID()), "--nofile="+n+":"))
		}
		victim := c.Subscriber("victim", c.A)
		victim.Says("ready")
		limit("5")
		publisher := c.Publisher("publisher", c.A, "-usr1", "-subscribers", "2")
		publisher.Says("ready")
		other := c.Subscriber("other", c.A)
		victim.ToldWhy("problem|refused", "too many open files", 0, 5*time.Second)
		table.Idle(3 * time.Second)
		at := c.Now()
		limit("1024")
		victim.Told("complete", at, 15*time.Second)
		onward(c, publisher, victim, other)
	}, "prlimit"),
	row("shm 12", "the folder of the sockets is removed under load", "rm -r", "connections stay; a subscriber that comes goes by TCP", table.Counts{"late by tcp": 1}, func(c *table.Case) {
		publisher, victim, other := c.Begin()
		c.Lossless()
		at := c.Now()
		by(c, victim, table.SHM)
		c.Must(os.RemoveAll(filepath.Join(c.Dir, "shm")))
		s := c.Subscriber("late", c.A)
		s.Late = true
		by(c, s, table.TCP)
		flow(c.Now(), 5*time.Second, victim, other, s)
		publisher.NotTold("lost", at)
		c.Finish()
	}),
}

// What is promised where something is missing, and what a program says of that.
const (
	noMemory = "messages go by TCP, and the program says why"
	tcp      = "messages go by TCP"
	says     = "a transport is not available: connections use others"
)

// What shows that something is missing.
var (
	byTCP = table.Counts{"victim by tcp": 1}
	apart = table.Counts{"namespaces apart": 1}
)

// row returns a row of shared memory.
func row(number, name, inject, promise string, struck table.Counts, run func(c *table.Case), needs ...string) table.Row {
	return table.Row{Number: number, Name: name, Inject: inject, Promise: promise, Ways: []string{table.SHM}, Struck: struck, Run: run, Needs: needs}
}

// subscriberWith starts a subscriber behind a command, which is to be connected by TCP, and compares what it says of that.
func subscriberWith(c *table.Case, before []string, want string, flags ...string) {
	publisher, victim, other := beside(c, before, flags...)
	by(c, victim, table.TCP)
	said(c, victim, want)
	onward(c, publisher, victim, other)
}

// beside starts a publisher, a subscriber behind a command, and one that shares memory with the publisher.
func beside(c *table.Case, before []string, flags ...string) (publisher, victim, other *table.Program) {
	publisher = c.Publisher("publisher", c.A, "-usr1", "-subscribers", "2")
	publisher.Says("ready")
	victim, other = c.Before("victim", c.A, before, nil, flags...), c.Subscriber("other", c.A)
	by(c, other, table.SHM)
	return publisher, victim, other
}

// countApart counts whether the namespaces of two programs differ, of one kind.
func countApart(c *table.Case, kind string, programs ...*table.Program) {
	links := make(map[string]bool)
	for _, p := range programs {
		link, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", p.PID(), kind))
		c.Must(err)
		links[link] = true
	}
	c.Count("namespaces apart", len(links)-1)
}

// publisherWith does so with a publisher.
func publisherWith(c *table.Case, before []string, way, want string, flags ...string) {
	publisher := c.BeforePublisher("publisher", c.A, before, nil, append(flags, "-usr1", "-subscribers", "2")...)
	publisher.Says("ready")
	victim, other := c.Subscriber("victim", c.A), c.Subscriber("other", c.A)
	by(c, victim, way)
	said(c, publisher, want)
	onward(c, publisher, victim, other)
}

func onward(c *table.Case, publisher, victim, other *table.Program) {
	c.Go(publisher, victim, other)
	c.Lossless()
	table.Idle(2 * time.Second)
	flow(c.Now(), 5*time.Second, victim, other)
	c.Finish()
}

func said(c *table.Case, p *table.Program, want string) {
	if want != "" && !p.LogHas(want) {
		c.Fail("%s does not say %q", p.Name, want)
	}
}

// by counts how a subscriber is connected, and compares that.
func by(c *table.Case, s *table.Program, way string) {
	got := s.Says("connected").Backend
	c.Count(s.Name+" by "+got, 1)
	if way != "" && got != way {
		c.Fail("%s is connected by %s, want %s", s.Name, got, way)
	}
}
