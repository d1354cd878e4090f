// SPDX-License-Identifier: Apache-2.0

//go:build linux

package audit

import "tagbus/test/faults/internal/check"

// Sums are the messages of streams that were judged.
type Sums struct {
	Streams, Accepted, Delivered, Unconfirmed uint64
	Told                                      check.Told
}

// add adds a stream. What was accepted counts from where its account begins, and where that is not known it is what
// is accounted for.
func (s *Sums) add(p check.Pair) {
	g := p.Got
	known := g.Delivered + g.Told.Missing()
	accepted := max(known, p.Sent.Accepted-min(g.First, p.Sent.Accepted))
	if g.Goodbye != 0 || p.Left || p.Killed { // what comes behind its end is not of it
		accepted = known
	}
	s.Streams++
	s.Accepted += accepted
	s.Delivered += g.Delivered
	s.Unconfirmed += accepted - known
	for cause, n := range g.Told {
		s.Told[cause] += n
	}
}
