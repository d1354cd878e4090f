// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"time"

	"tagbus/test/faults/internal/bed"
	"tagbus/test/faults/internal/expected"
)

// fault is something that happens to the site for a while.
type fault struct {
	kind   expected.Fault
	weight int
	// happen does it, and ends it before it returns, soon when ctx ends. It returns what it was done to.
	happen func(ctx context.Context, r *rand.Rand) (to string)
}

// lane lets faults happen, one after the other with short pauses, until ctx ends.
func (s *site) lane(ctx context.Context, faults []fault, r *rand.Rand) {
	total := 0
	for _, f := range faults {
		total += f.weight
	}
	for ctx.Err() == nil {
		pick := r.IntN(total)
		for _, f := range faults {
			if pick -= f.weight; pick < 0 {
				s.happens(f.kind)
				begun := time.Now()
				to := f.happen(ctx, r)
				s.over(f.kind)
				s.say("%s: %s, %v", f.kind, to, time.Since(begun).Round(100*time.Millisecond))
				break
			}
		}
		s.idle(ctx, between(r, time.Second, 4*time.Second))
	}
}

// between returns a random time.
func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)))
}

// silent returns how long a process stands still: its peers take it for dead after 3 s.
func silent(r *rand.Rand) time.Duration { return between(r, 500*time.Millisecond, 8*time.Second) }

// one returns one of some stations, and any if ending is not set or one that no fault is kept from.
func one(r *rand.Rand, all []*station, ends bool) *station {
	for {
		if st := all[r.IntN(len(all))]; !ends || !st.stays {
			return st
		}
	}
}

// processFaults are what happens to publishers and subscribers.
func (s *site) processFaults() []fault {
	return []fault{
		{expected.PublisherKilled, 2, func(ctx context.Context, r *rand.Rand) string { return s.kill(ctx, r, one(r, s.publishers, true)) }},
		{expected.SubscriberKilled, 2, func(ctx context.Context, r *rand.Rand) string { return s.kill(ctx, r, one(r, s.subscribers, true)) }},
		{expected.PublisherEnds, 1, func(ctx context.Context, r *rand.Rand) string { return s.again(ctx, r, one(r, s.publishers, true)) }},
		{expected.SubscriberEnds, 1, func(ctx context.Context, r *rand.Rand) string { return s.again(ctx, r, one(r, s.subscribers, true)) }},
		{expected.PublisherStops, 2, func(ctx context.Context, r *rand.Rand) string {
			return s.stop(ctx, silent(r), one(r, s.publishers, false))
		}},
		{expected.SubscriberStops, 3, func(ctx context.Context, r *rand.Rand) string {
			return s.stop(ctx, silent(r), one(r, s.subscribers, false))
		}},
		{expected.SubscriberLags, 2, func(ctx context.Context, r *rand.Rand) string {
			st := one(r, s.subscribers, false)
			p := s.running(st)
			s.must(p.Signal(syscall.SIGUSR2))
			s.idle(ctx, 5*time.Second)
			return p.Name
		}},
	}
}

// kill kills a station and starts it again.
func (s *site) kill(ctx context.Context, r *rand.Rand, st *station) string {
	s.with(func() { st.ending = true })
	p := s.running(st)
	p.Kill()
	s.with(func() { s.ended(st) })
	s.idle(ctx, between(r, 0, 3*time.Second))
	s.with(func() { s.start(st) })
	return p.Name
}

// again ends a station in order and starts it again.
func (s *site) again(ctx context.Context, r *rand.Rand, st *station) string {
	name := s.running(st).Name
	s.end(st, ordered)
	s.idle(ctx, between(r, 0, 3*time.Second))
	s.with(func() { s.start(st) })
	return name
}

// stop makes a station stand still: shorter or longer than its heartbeats may be silent.
func (s *site) stop(ctx context.Context, d time.Duration, st *station) string {
	p := s.running(st)
	s.must(p.Signal(syscall.SIGSTOP))
	s.idle(ctx, d)
	s.must(p.Signal(syscall.SIGCONT))
	return p.Name
}

// running returns the process of a station.
func (s *site) running(st *station) (p *bed.Process) {
	s.with(func() { p = st.process })
	return p
}

// otherFaults are what happens to the network, the directory and the disk.
func (s *site) otherFaults() []fault {
	return []fault{
		{expected.LinkDown, 1, func(ctx context.Context, r *rand.Rand) string {
			s.must(s.IP("-n B link set wire down"))
			s.idle(ctx, between(r, 500*time.Millisecond, 8*time.Second))
			s.must(s.IP("-n B link set wire up"))
			return "the wire"
		}},
		{expected.PacketsDropped, 2, func(ctx context.Context, r *rand.Rand) string {
			hooks := []string{"input", "output", "input output"}[r.IntN(3)]
			return s.rule(ctx, between(r, time.Second, 10*time.Second), hooks, "drop")
		}},
		{expected.PacketsLost, 3, func(ctx context.Context, r *rand.Rand) string {
			return s.rule(ctx, between(r, 2*time.Second, 10*time.Second), "input output", fmt.Sprintf("numgen random mod 100 < %d drop", []int{1, 5, 10, 30}[r.IntN(4)]))
		}},
		{expected.ConnectionsReset, 3, func(_ context.Context, r *rand.Rand) string {
			if r.IntN(4) == 0 {
				s.must(s.On(s.B, "ss", "-K", "dst", bed.AddressA))
				return "all of the other host"
			}
			port := firstPort + r.IntN(publishers)
			s.must(s.On(s.B, "ss", "-K", "dport", "=", fmt.Sprint(port)))
			return fmt.Sprint("to port ", port)
		}},
		{expected.AddressChanged, 1, func(ctx context.Context, r *rand.Rand) string {
			s.move(bed.AddressA, bed.Later)
			s.idle(ctx, between(r, 5*time.Second, 20*time.Second))
			s.move(bed.Later, bed.AddressA)
			return "to another one and back"
		}},
		{expected.DirectoryKilled, 1, func(ctx context.Context, r *rand.Rand) string {
			name := s.kill(ctx, r, s.directory)
			s.awaitDirectory()
			return name
		}},
		{expected.DirectoryStops, 1, func(ctx context.Context, r *rand.Rand) string {
			return s.stop(ctx, between(r, time.Second, 20*time.Second), s.directory)
		}},
		{expected.Strangers, 1, func(ctx context.Context, r *rand.Rand) string { return s.strangers(ctx, r) }},
		{expected.DiskFull, 1, func(ctx context.Context, r *rand.Rand) string { return s.fill(ctx, r) }},
	}
}

// must says an error of what does the faults.
func (s *site) must(err error) {
	if err != nil {
		s.problem("a fault cannot happen: %v", err)
	}
}

// rule makes the firewall of the second host do something for a while.
func (s *site) rule(ctx context.Context, d time.Duration, hooks, what string) string {
	text := "add table inet faults;"
	for hook, side := range map[string]string{"input": "iifname", "output": "oifname"} {
		if hooks == hook || hooks == "input output" {
			text += fmt.Sprintf("add chain inet faults %s { type filter hook %s priority 0; }; add rule inet faults %s %s wire %s;", hook, hook, hook, side, what)
		}
	}
	s.must(s.On(s.B, "nft", text))
	s.idle(ctx, d)
	s.must(s.On(s.B, "nft", "delete table inet faults"))
	return hooks + ": " + what
}

// move gives the host of the publishers another address.
func (s *site) move(from, to string) {
	s.must(s.IP("-n A address del " + from + "/24 dev wire")) // it would take a second one of its network along
	s.must(s.IP("-n A address add " + to + "/24 dev wire"))
}

// strangers connect to a publisher and say what no program of the bus says.
func (s *site) strangers(ctx context.Context, r *rand.Rand) string {
	mode := []string{"idle", "slow", "random", "http", "tls", "cut", "lengths"}[r.IntN(7)]
	to := fmt.Sprintf("%s:%d", bed.AddressA, firstPort+r.IntN(publishers))
	p, err := s.Start(s.B, "strangers", nil, filepath.Join(s.bin, "faultload"), "strangers", "-to", to, "-n", "100", "-mode", mode)
	if err != nil {
		s.problem("%v", err)
		return to
	}
	s.idle(ctx, between(r, 2*time.Second, 10*time.Second))
	p.Kill()
	return mode + ", at " + to
}
