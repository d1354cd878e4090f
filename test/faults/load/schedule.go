// SPDX-License-Identifier: Apache-2.0

//go:build linux

package load

import (
	"time"

	"tagbus/test/faults/internal/check"
)

// schedule is when the messages of a run of tags are due.
type schedule struct {
	rate, fast float64 // messages in a second of each tag, and how many times as many of the first
	begun      time.Time
	before     []uint64 // messages of each tag then
}

// now reports whether a message of tag i of the run is due.
func (s *schedule) now(i int, sent *check.Sent) bool {
	return s.rate == 0 || float64(sent.Accepted-s.before[i]) < s.of(i)*time.Since(s.begun).Seconds()
}

func (s *schedule) of(i int) float64 {
	if i == 0 {
		return s.rate * s.fast
	}
	return s.rate
}

// forgive begins again when the run is more than a second late, which is not made up for.
func (s *schedule) forgive(run []check.Sent) {
	late := s.of(0)*(time.Since(s.begun).Seconds()-1) - float64(run[0].Accepted-s.before[0])
	if s.rate == 0 || late <= 0 {
		return
	}
	s.begun = time.Now()
	for i := range run {
		s.before[i] = run[i].Accepted
	}
}
