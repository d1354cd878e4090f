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
	of    map[string]*presence // by instance
	steps int                  // that comparisons of tags may still take
	parts int                  // of tags that may still be kept
}

// Comparisons of tags take at most so many steps, and some more for each event. Beyond, the
// recordings make nothing good for each other.
const (
	presenceSteps = 1 << 27
	stepsPerEvent = 64
)

// presence is what the recorders have of one publisher.
type presence struct {
	joined map[int]tags.Set // by the index of the recording
	untold map[int]bool     // recordings whose tags are more than can be kept or joined
	ended  bool             // it has said goodbye
}

func newPresences() *presences {
	return &presences{of: make(map[string]*presence), steps: presenceSteps, parts: maxHoles}
}

// changes follows an event of a recording, and reports whether it is to be written.
func (p *presences) changes(recorder int, e *recording.Event) bool {
	if e.Peer == nil {
		return true
	}
	s := p.of[e.Peer.Instance]
	if s == nil {
		s = &presence{joined: make(map[int]tags.Set), untold: make(map[int]bool)}
		p.of[e.Peer.Instance] = s
	}
	p.steps += stepsPerEvent
	switch e.Kind {
	case recording.Joined:
		covered := p.covered(s, recorder, e.Tags)
		s.ended = false
		p.join(s, recorder, e.Tags)
		return !covered
	case recording.Ended:
		was := s.ended
		p.forget(s, recorder)
		s.ended = true
		return !was || e.Failed
	case recording.Lost, recording.Vanished:
		had, untold := s.joined[recorder], s.untold[recorder]
		p.forget(s, recorder)
		return !s.ended && (untold || !p.covered(s, recorder, had))
	default:
		return true
	}
}

// join adds tags to those that a recorder has of a publisher. Those that there is no room or
// time for are not kept, nor are the others then: nothing is made good with a part of them.
func (p *presences) join(s *presence, recorder int, set tags.Set) {
	has, untold := s.joined[recorder], s.untold[recorder]
	p.forget(s, recorder)
	if !untold && p.spend(has, set) {
		if set = has.Union(set); set.Parts() <= p.parts {
			p.parts -= set.Parts()
			s.joined[recorder] = set
			return
		}
	}
	s.untold[recorder] = true
}

// forget forgets what a recorder has of a publisher.
func (p *presences) forget(s *presence, recorder int) {
	p.parts += s.joined[recorder].Parts()
	delete(s.joined, recorder)
	delete(s.untold, recorder)
}

// spend reports whether there are steps for the union of two sets, and takes them.
func (p *presences) spend(a, b tags.Set) bool {
	n := a.Parts() + b.Parts() + 1
	if n > p.steps {
		return false
	}
	p.steps -= n
	return true
}

// covered reports whether another recorder has all of some tags of a publisher.
func (p *presences) covered(s *presence, recorder int, want tags.Set) bool {
	for other, has := range s.joined {
		if other == recorder {
			continue
		}
		if !p.spend(has, want) {
			return false
		}
		if has.Union(want).Equal(has) {
			return true
		}
	}
	return false
}

// ending is how a recording ends.
type ending struct {
	tags        tags.Set
	untold      bool // which tags: the header is damaged
	first, last time.Time
	problems    []problem
}

// endingOf returns how a recording ends, and what is missing in it.
//
//   - failed: why its recorder has ended, if that was too early.
//   - blocks: how many could not be read.
func endingOf(g recording.Readers, failed missing, blocks uint64) ending {
	i := g[0].Info()
	e := ending{tags: i.Tags, untold: i.HeaderDamage != nil, problems: problems(g, time.Time{}, time.Time{})}
	e.first, e.last = span(g)
	for _, text := range failed.lines() {
		e.problems = append(e.problems, problem{text, true})
	}
	if blocks > 0 {
		e.problems = append(e.problems, problem{blocksMissing(blocks), false})
	}
	return e
}

// uncovered returns the problems of recordings that no other one makes good: one without
// problems, with all its tags, over the time in question.
func uncovered(ends []ending) (why missing) {
	for i := range ends {
		for _, p := range ends[i].problems {
			good := false
			for j := range ends {
				o := &ends[j]
				good = good || i != j && !ends[i].untold && len(o.problems) == 0 && o.last.After(ends[i].last) &&
					(p.atEnd || !o.first.After(ends[i].first)) && o.tags.Union(ends[i].tags).Equal(o.tags)
			}
			if !good {
				why.add(p.text)
			}
		}
	}
	return why
}
