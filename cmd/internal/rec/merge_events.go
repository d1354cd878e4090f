// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"time"

	"tagbus/recording"
	"tagbus/tags"
)

// causeOrder is the order in which causes are used up: what was lost comes before what was
// left out on purpose, so that a hole is not called harmless.
var causeOrder = []recording.Cause{
	recording.CauseOther, recording.CauseFull, recording.CauseMemory, recording.CauseConnection,
	recording.CauseEnded, recording.CauseQueueFull, recording.CauseLeftOut,
}

// presences follow which recorders have a connection to which publisher. What one recorder
// loses of a publisher is nothing while another one has the same tags of it.
type presences struct {
	of map[string]*presence // by instance
}

// presence is what the recorders have of one publisher.
type presence struct {
	joined map[int]tags.Set // by the index of the recording
	ended  bool             // it has said goodbye
}

func newPresences() *presences { return &presences{of: make(map[string]*presence)} }

// changes follows an event of a recording, and reports whether it is to be written.
func (p *presences) changes(recorder int, e *recording.Event) bool {
	if e.Peer == nil {
		return true
	}
	s := p.of[e.Peer.Instance]
	if s == nil {
		s = &presence{joined: make(map[int]tags.Set)}
		p.of[e.Peer.Instance] = s
	}
	switch e.Kind {
	case recording.Joined:
		covered := s.covers(recorder, e.Tags)
		s.joined[recorder], s.ended = s.joined[recorder].Union(e.Tags), false
		return !covered
	case recording.Ended:
		was := s.ended
		delete(s.joined, recorder)
		s.ended = true
		return !was || e.Failed
	case recording.Lost, recording.Vanished:
		had := s.joined[recorder]
		delete(s.joined, recorder)
		return !s.ended && !s.covers(recorder, had)
	default:
		return true
	}
}

// covers reports whether another recorder has all of some tags.
func (s *presence) covers(recorder int, want tags.Set) bool {
	for other, has := range s.joined {
		if other != recorder && has.Union(want).Equal(has) {
			return true
		}
	}
	return false
}

// ending is how a recording ends.
type ending struct {
	tags        tags.Set
	first, last time.Time
	problems    []problem
}

// endingOf returns how a recording ends, and what is missing in it.
//
//   - failed: why its recorder has ended, if that was too early.
//   - blocks: how many could not be read.
func endingOf(g recording.Readers, failed []string, blocks uint64) ending {
	e := ending{tags: g[0].Info().Tags, problems: problems(g, time.Time{}, time.Time{})}
	e.first, e.last = span(g)
	for _, text := range failed {
		e.problems = append(e.problems, problem{text, true})
	}
	if blocks > 0 {
		e.problems = append(e.problems, problem{blocksMissing(blocks), false})
	}
	return e
}

// uncovered returns the problems of recordings that no other one makes good: one without
// problems, with all its tags, over the time in question.
func uncovered(ends []ending) (why []string) {
	for i := range ends {
		for _, p := range ends[i].problems {
			good := false
			for j := range ends {
				o := &ends[j]
				good = good || i != j && len(o.problems) == 0 && o.last.After(ends[i].last) &&
					(p.atEnd || !o.first.After(ends[i].first)) && o.tags.Union(ends[i].tags).Equal(o.tags)
			}
			if !good {
				why = append(why, p.text)
			}
		}
	}
	return why
}
