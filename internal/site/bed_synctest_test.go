// SPDX-License-Identifier: Apache-2.0

package site_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/internal/testkit/memnet"
	"tagbus/tags"
)

// publisher is a process of a readout host.
type publisher struct {
	*bus.Publisher
	loop *loop
	list []tags.Tag
	host int
}

// site is all processes.
type site struct {
	t    *testing.T
	plan plan
	net  *memnet.Network
	dir  *memory.Directory

	publishers []*publisher // a host's stand together
	consumers  []*consumer
	sending    meter // the loops of publishers
	receiving  meter

	rows []row
}

var anyone netip.AddrPort

func newSite(t *testing.T, p plan) *site {
	t.Helper()
	s := &site{t: t, plan: p, net: memnet.New(), dir: memory.New()}
	s.net.SetDelay(anyone, anyone, grain)
	return s
}

// addr returns the address of a host or of a consumer.
func addr(kind byte, n int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, kind, byte(n >> 8), byte(n)})
}

// open starts the processes of a plan at once.
func (s *site) open() {
	readings := s.plan.readings(s.t)
	s.publishers = make([]*publisher, s.plan.hosts*s.plan.processes)
	s.consumers = make([]*consumer, len(readings))
	var all sync.WaitGroup
	for i := range s.publishers {
		all.Go(func() { s.openPublisher(i) })
	}
	for i := range s.consumers {
		all.Go(func() { s.openConsumer(i, readings[i]) })
	}
	all.Wait()
}

// openPublisher starts process i, in place of one that has ended.
func (s *site) openPublisher(i int) {
	host := i / s.plan.processes
	p := &publisher{loop: newLoop(&s.sending), list: s.plan.served(s.t, host, i%s.plan.processes), host: host}
	at := addr(0, host)
	var err error
	p.Publisher, err = bus.NewPublisher(s.net.Opener(p.loop, memnet.Config{Host: at}), s.dir, bus.PublisherConfig{
		Common: bus.Common{Name: fmt.Sprintf("felix-%d", i)}, Listening: bus.Listening{Listen: netip.AddrPortFrom(at, 0)}, Tags: tags.Of(p.list...),
		Sending: bus.Sending{PageBytes: 4096, MaxMessageBytes: 1024, QueueBytes: 64 << 10, PoolBytes: 1 << 20},
	})
	if err != nil {
		s.t.Error(err)
	}
	s.publishers[i] = p
}

func (s *site) openConsumer(i int, r reading) {
	c := &consumer{
		reading: r, loop: newLoop(&s.receiving), events: make(map[bus.EventKind]uint64),
		active: make(map[string]bool), last: make(map[stream]uint64),
	}
	var err error
	c.Subscriber, err = bus.NewSubscriber(s.net.Opener(c.loop, memnet.Config{Host: addr(1, i)}), s.dir, bus.SubscriberConfig{Common: bus.Common{Name: r.name, OnEvent: c.note}})
	if err == nil {
		_, err = c.Subscribe(r.set, c.handle)
	}
	if err != nil {
		s.t.Error(err)
	}
	s.consumers[i] = c
}

// end ends a process of a host: in order, or if it was killed not.
func (s *site) end(p *publisher, inOrder bool) {
	if inOrder {
		if err := p.Drain(s.t.Context()); err != nil {
			s.t.Errorf("drain: %v", err)
		}
	}
	if err := p.Close(); err != nil {
		s.t.Errorf("close: %v", err)
	}
	p.loop.Close()
}

// close ends all.
func (s *site) close() {
	var all sync.WaitGroup
	for _, c := range s.consumers {
		all.Go(func() {
			if err := c.Close(); err != nil {
				s.t.Errorf("close: %v", err)
			}
			c.loop.Close()
		})
	}
	for _, p := range s.publishers {
		all.Go(func() { s.end(p, false) })
	}
	all.Wait()
	for _, violation := range s.net.Violations() {
		s.t.Error(violation)
	}
}

// tally adds up what the consumers have seen.
func (s *site) tally() tally {
	sum := tally{events: make(map[bus.EventKind]uint64)}
	for _, c := range s.consumers {
		c.addTo(&sum)
	}
	return sum
}

// until waits, up to ten minutes on the clock of the site.
func (s *site) until(what string, done func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(10 * time.Minute); !done(); {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: not within ten minutes", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// allActive waits until each consumer has an acknowledgement of each of its publishers.
func (s *site) allActive() {
	s.t.Helper()
	s.until("all are active", func() bool { return int(s.tally().active) == s.plan.connections() })
}

// publish publishes a message of each tag of some publishers.
func (s *site) publish(publishers []*publisher) {
	s.t.Helper()
	for _, p := range publishers {
		for _, tag := range p.list {
			if err := p.PublishContext(context.Background(), tag, []byte("readout.")); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// exact publishes a message of each tag, and wants that each consumer gets all of its tags.
func (s *site) exact() {
	s.t.Helper()
	before := make([]uint64, len(s.consumers))
	for i, c := range s.consumers {
		c.mu.Lock()
		before[i] = c.messages
		c.mu.Unlock()
	}
	s.publish(s.publishers)
	time.Sleep(5 * time.Second)
	for i, c := range s.consumers {
		c.mu.Lock()
		if got := c.messages - before[i]; got != uint64(c.tags) {
			s.t.Errorf("%s: got %d messages, want %d: one of each tag", c.name, got, c.tags)
		}
		c.mu.Unlock()
	}
}

// rack returns the publishers of the hosts of one rack.
func (s *site) rack() []*publisher {
	return s.publishers[:min(rackHosts, s.plan.hosts/2)*s.plan.processes]
}

// kill ends the processes of a rack as a failure of its power does. Their entries go later.
func (s *site) kill(rack []*publisher) {
	for _, p := range rack {
		s.net.Kill(addr(0, p.host))
	}
	time.Sleep(10 * time.Second)
	for _, p := range rack {
		s.dir.Expire(p.Instance(), directory.ErrExpired)
		s.end(p, false)
	}
}

// usedTime returns the processor time that this process has used.
func usedTime() time.Duration {
	var u unix.Rusage
	if err := errors.Join(unix.Getrusage(unix.RUSAGE_SELF, &u)); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
