// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// One member is killed and comes back, with clients that know no other.
func TestTheOnlyMemberIsKilled(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1)
	s := newScene(t, site.url(), 3)
	site.servers[0].kill()
	s.dies()
	s.outlast(2)
	site.servers[0].again()
	works := time.Now()
	s.goesOn()
	s.buried(works)
	s.outlast(1)
	s.allLive()
	s.end()
}

// The leader of three is killed. Nothing waits for it.
func TestOneOfThreeIsKilled(t *testing.T) {
	t.Parallel()
	site := newSite(t, 3)
	s := newScene(t, site.url(), 3)
	leader := site.leader()
	leader.kill()
	s.dies()
	s.goesOn()
	s.buried(time.Now()) // the others have chosen a leader, which on a busy host takes seconds
	leader.again()
	s.goesOn()
	s.end()
}

// All three are killed at once, for longer than any entry lasts, and come back.
func TestAllThreeAreKilled(t *testing.T) {
	t.Parallel()
	site := newSite(t, 3)
	s := newScene(t, site.url(), 3)
	for _, m := range site.servers {
		m.kill()
	}
	s.dies()
	s.outlast(3)
	for _, m := range site.servers {
		m.relaunch()
	}
	for _, m := range site.servers {
		m.works()
	}
	works := time.Now()
	s.goesOn()
	s.buried(works)
	s.outlast(1)
	s.allLive()
	s.end()
}

// An entry that is longer than members take is refused, and named.
func TestAnEntryThatIsTooLarge(t *testing.T) {
	t.Parallel()
	site := newSite(t, 1)
	s := newScene(t, site.url(), 2)
	const tags = 600_000 // 4 MB, each at random
	got := s.living[0].order(fmt.Sprint("large giant ", tags))
	if !strings.Contains(got, "giant") || got == "<nil>" {
		t.Errorf("got %q for an entry of %d tags, want an error that names it", got, tags)
	}
	t.Log(got)
	s.goesOn()
	s.end()
}
