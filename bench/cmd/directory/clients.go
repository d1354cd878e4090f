// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"tagbus/bench/internal/load"
	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	_ "tagbus/directory/etcd" // for URLs
	"tagbus/tags"
)

// clients are some publishers and subscribers, as seen by a directory. Each has a client of
// its own.
type clients struct {
	o          load.Options
	n          int // publishers of all processes, and as many subscribers
	from, to   int // of these, in this process
	wrong      atomic.Int64
	problems   atomic.Int64
	mu         sync.Mutex
	here       []directory.Opened
	seen       []int         // entries that a subscriber knows
	complete   map[int]int   // by number of entries: subscribers that have known as many
	last       map[int]int64 // by number of entries: when the last subscriber did
	changed    chan struct{} // of one place
	registered []directory.Registration
}

// answer is what a process says when its subscribers know all.
type answer struct {
	Slowest  float64 `json:"slowest"` // Announce, in seconds
	SeenNS   int64   `json:"seen_ns"` // when the last subscriber knew all
	Gone     int     `json:"gone"`    // entries of publishers that live
	Problems int     `json:"problems"`
}

func newClients(o load.Options) *clients {
	c := &clients{o: o, n: o.Connects, complete: make(map[int]int), last: make(map[int]int64), changed: make(chan struct{}, 1)}
	c.from, c.to = o.Part*c.n/o.Spread, (o.Part+1)*c.n/o.Spread
	c.seen = make([]int, c.to-c.from)
	return c
}

// run does what it reads on standard input.
func (c *clients) run() error {
	load.Listening("here")
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		a, err := answer{}, error(nil)
		want := c.n
		switch input.Text() {
		case "go":
			a.Slowest, err = c.begin()
		case "one":
			if want++; c.o.Part == 0 {
				a.Slowest, err = c.announce(c.n)
			}
		}
		if err != nil {
			return err
		}
		c.wait(want)
		c.mu.Lock()
		a.SeenNS = c.last[want]
		c.mu.Unlock()
		a.Gone, a.Problems = int(c.wrong.Load()), int(c.problems.Load())
		if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
			return err
		}
	}
	return nil
}

// open opens a client.
func (c *clients) open() (directory.Opened, error) {
	var d directory.Opened
	path, isFolder, err := directory.Folder(c.o.Addr)
	switch {
	case err != nil:
	case isFolder:
		d, err = file.Open(path, file.Config{})
	default:
		d, err = directory.Open(c.o.Addr, directory.Settings{Logger: slog.New(slog.DiscardHandler)})
	}
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.here = append(c.here, d)
	return d, nil
}

// begin starts all subscribers and publishers at once, and returns how long the slowest
// Announce took.
func (c *clients) begin() (slowest float64, err error) {
	var all sync.WaitGroup
	var mu sync.Mutex
	for i := c.from; i < c.to; i++ {
		all.Go(func() {
			failed := c.watch(i - c.from)
			mu.Lock()
			defer mu.Unlock()
			err = errors.Join(err, failed)
		})
		all.Go(func() {
			took, failed := c.announce(i)
			mu.Lock()
			defer mu.Unlock()
			slowest, err = max(slowest, took), errors.Join(err, failed)
		})
	}
	all.Wait()
	return slowest, err
}

// watch is subscriber i of this process.
func (c *clients) watch(i int) error {
	d, err := c.open()
	if err != nil {
		return err
	}
	_, err = d.Watch(func(e directory.Event) {
		switch e.Kind {
		case directory.Problem:
			c.problems.Add(1)
		case directory.Gone:
			c.wrong.Add(1)
			c.count(i, -1)
		case directory.Appeared:
			c.count(i, 1)
		case directory.Changed:
		}
	})
	return err
}

// count notes that a subscriber knows one entry more, or less.
func (c *clients) count(i, more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen[i] += more; c.seen[i] >= c.n && more > 0 {
		c.complete[c.seen[i]]++
		c.last[c.seen[i]] = load.Now()
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
}

// wait waits until all subscribers know so many entries.
func (c *clients) wait(want int) {
	for {
		c.mu.Lock()
		done := c.complete[want] >= len(c.seen)
		c.mu.Unlock()
		if done {
			return
		}
		<-c.changed
	}
}

// announce is publisher i, with tags that lie among those of the others.
func (c *clients) announce(i int) (seconds float64, err error) {
	d, err := c.open()
	if err != nil {
		return 0, err
	}
	list := make([]tags.Tag, c.o.Tags)
	for k := range list {
		list[k] = tags.Tag(i + k*(c.n+1))
	}
	begun := time.Now()
	r, err := d.Announce(directory.Entry{
		Instance: fmt.Sprintf("publisher-%d", i), Name: "bench", Host: "host", PID: os.Getpid(), Backend: "tcp",
		Addresses: []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 7000)},
		Tags:      tags.Of(list...), PageBytes: 64 << 10, MaxMessageBytes: 1 << 20, Since: begun,
	})
	if err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.registered = append(c.registered, r)
	return time.Since(begun).Seconds(), nil
}
