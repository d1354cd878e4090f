// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// goneWithin is how long after its process has ended, or after the directory works again,
// an entry may still be there.
const goneWithin = expiry + 5*time.Second

// scene is a directory with clients, each of which announces an entry, and watches those
// of all. The mortal one is killed.
type scene struct {
	t      *testing.T
	living []*client
	mortal *client
	died   time.Time
}

// newScene starts clients, and returns once all see all.
func newScene(t *testing.T, url string, n int) *scene {
	t.Helper()
	s := &scene{t: t}
	for i := range n {
		s.join(newClient(t, fmt.Sprintf("living-%d", i), url))
	}
	s.mortal = newClient(t, "mortal", url)
	s.mortal.announce("mortal")
	s.seen("mortal")
	return s
}

// join makes a client announce itself, and returns once all see it.
func (s *scene) join(c *client) {
	s.t.Helper()
	s.living = append(s.living, c)
	c.announce(c.name)
	s.seen(c.name)
}

// seen returns once all clients have seen an instance.
func (s *scene) seen(instance string) {
	s.t.Helper()
	for _, c := range s.living {
		c.await(0, "appeared "+instance+".")
	}
}

// dies kills the mortal client.
func (s *scene) dies() {
	s.t.Helper()
	s.mortal.kill()
	s.died = time.Now()
}

// buried returns once all clients know that the mortal one is dead, which must be in time.
//
//   - works: since when the directory works, if it did not when the client died.
func (s *scene) buried(works time.Time) {
	s.t.Helper()
	if works.Before(s.died) {
		works = s.died
	}
	for _, c := range s.living {
		gone := c.await(0, "gone mortal.")
		if took := gone.at.Sub(works); took > goneWithin {
			s.t.Errorf("%s: knows of the death after %v, want at most %v", c.name, took, goneWithin)
		}
		if !strings.Contains(gone.text, "not renewed in time") {
			s.t.Errorf("%s: got %q, want that it was not renewed in time", c.name, gone.text)
		}
	}
}

// goesOn announces one more entry, returns once all clients have seen it, and fails the
// test if one was ever told that a living one is gone.
func (s *scene) goesOn() {
	s.t.Helper()
	late := fmt.Sprintf("late-%d", time.Now().UnixNano())
	start := time.Now()
	s.living[0].announce(late)
	s.seen(late)
	s.t.Logf("one more entry was seen by all after %v", time.Since(start).Round(time.Millisecond))
	s.allLive()
}

// allLive fails the test if a client was ever told that a living one is gone.
func (s *scene) allLive() {
	s.t.Helper()
	for _, c := range s.living {
		for _, other := range s.living {
			if line, _, found, _ := c.find(0, "gone "+other.name+"."); found {
				s.t.Errorf("%s: got %q at %v, but %s lives", c.name, line.text, line.at.Format("05.000"), other.name)
			}
		}
	}
}

// outlast waits until what is not renewed would be gone, several times: that nothing
// happens can only be seen by waiting.
func (s *scene) outlast(expiries int) {
	s.t.Helper()
	for _, c := range s.living {
		select {
		case <-c.ended:
			s.t.Fatalf("%s has ended", c.name)
		default:
		}
	}
	select {
	case <-s.living[0].ended:
		s.t.Fatalf("%s has ended", s.living[0].name)
	case <-time.After(time.Duration(expiries) * expiry):
	}
}

// end ends all clients in order.
func (s *scene) end() {
	s.t.Helper()
	for _, c := range s.living {
		c.leave()
	}
}
