// SPDX-License-Identifier: Apache-2.0

package site_test

import (
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestASite starts all processes of a site at once, restarts the publishers host by host,
// cuts the power of a rack and then its network. In each case all is active again by itself,
// nothing is lost that no event names, and what is not concerned notices nothing.
func TestASite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, readout.fit())
		s.phase("start-up storm", func() { s.open(); s.allActive() })
		s.phase("one message of each", func() { s.exact() })
		s.phase("a minute idle", func() { time.Sleep(time.Minute) })
		s.phase("rolling restart", func() {
			for first := 0; first < len(s.publishers); first += waveHosts * s.plan.processes {
				s.restart(first, min(first+waveHosts*s.plan.processes, len(s.publishers)))
			}
			s.allActive()
			s.exact()
		})
		rack := s.rack()
		s.phase("a rack without power", func() {
			s.publish(s.publishers)
			s.kill(rack)
			time.Sleep(20 * time.Second)
			s.reopen(rack)
			s.allActive()
			s.exact()
		})
		rack = s.rack()
		s.phase("a rack without network", func() {
			for _, p := range rack {
				s.net.Partition(netip.AddrPortFrom(addr(0, p.host), 0), anyone)
			}
			time.Sleep(time.Second)
			s.publish(s.publishers)
			time.Sleep(30 * time.Second)
			for _, p := range rack {
				s.net.Heal(netip.AddrPortFrom(addr(0, p.host), 0), anyone)
			}
			s.allActive()
			s.exact()
		})
		s.print()
		s.close()
	})
}

// restart ends some publishers in order, at once, right after each has published, and starts
// their successors two seconds later.
func (s *site) restart(from, to int) {
	s.publish(s.publishers[from:to])
	var all sync.WaitGroup
	for i := from; i < to; i++ {
		all.Go(func() {
			s.end(s.publishers[i], true)
			time.Sleep(2 * time.Second)
			s.openPublisher(i)
		})
	}
	all.Wait()
	time.Sleep(time.Second)
}

// reopen starts the successors of publishers at once.
func (s *site) reopen(rack []*publisher) {
	var all sync.WaitGroup
	for i := range rack {
		all.Go(func() { s.openPublisher(i) })
	}
	all.Wait()
}

// TestAProcessForEachLink is a tenth of the site with 24 times the publishers and connections
// for the same tags.
func TestAProcessForEachLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, perLink.fit())
		s.phase("start-up storm", func() { s.open(); s.allActive() })
		s.phase("one message of each", func() { s.exact() })
		s.phase("a minute idle", func() { time.Sleep(time.Minute) })
		s.print()
		s.close()
	})
}
