// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"tagbus/test/faults/internal/check"
	"tagbus/test/faults/internal/expected"
)

// say says what happens.
func (s *site) say(format string, args ...any) {
	fmt.Fprintf(os.Stdout, "%9s  %s\n", time.Since(s.began).Round(100*time.Millisecond), fmt.Sprintf(format, args...))
}

// problem says what is wrong.
func (s *site) problem(format string, args ...any) {
	s.with(func() { s.problemLocked(format, args...) })
}

// problemLocked is problem with s.mu held.
func (s *site) problemLocked(format string, args ...any) {
	s.problems++
	s.say("WRONG: "+format, args...)
}

// line says which line nothing explains. s.mu is held.
func (s *site) line(st *station, text string) {
	if s.lines++; s.lines <= mostLines {
		s.say("UNEXPECTED: %s: %.250s", st.process.Name, text)
	}
}

// happens notes that a fault begins.
func (s *site) happens(f expected.Fault) {
	s.with(func() { s.last[f] = time.Time{}; s.counts[f]++ })
}

// over notes that a fault is over.
func (s *site) over(f expected.Fault) { s.with(func() { s.last[f] = time.Now() }) }

// explained reports whether a line is expected. s.mu is held.
func (s *site) explained(kind, text string) bool {
	return expected.Line(kind, text, func(f expected.Fault) bool {
		end, was := s.last[f]
		return was && (end.IsZero() || time.Since(end) < lately)
	})
}

// report prints the summary, and reports whether anything is wrong.
func (s *site) report(to *os.File) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(to, "\nseed %d, %v; faults:\n", s.seed, short(time.Since(s.began)))
	for _, f := range slices.Sorted(maps.Keys(s.counts)) {
		fmt.Fprintf(to, "%6d  %s\n", s.counts[f], f)
	}
	fmt.Fprintf(to, "\n%-14s %9s %12s %12s %9s %9s %10s %9s %9s %11s\n", "policy", "streams", "accepted", "delivered", "full", "memory", "connection", "ended", "left out", "unconfirmed")
	sums := s.audit.Sums()
	for _, policy := range slices.Sorted(maps.Keys(sums)) {
		a := sums[policy]
		fmt.Fprintf(to, "%-14s %9d %12d %12d %9d %9d %10d %9d %9d %11d\n", policy, a.Streams, a.Accepted, a.Delivered, a.Told[check.Full], a.Told[check.Memory], a.Told[check.Connection], a.Told[check.Ended], a.Told[check.LeftOut], a.Unconfirmed)
	}
	fmt.Fprintf(to, "\n%s\n%s\n%s\n\n%s", s.cpu.text(), s.viewer.text(), s.recordings.text(), s.levels.text())
	fmt.Fprintf(to, "\n%d streams went on after the last fault; %d streams are not judged\n%d things are wrong; %d lines are unexpected\n",
		s.live, s.audit.Open(), s.problems, s.lines)
	return s.problems > 0 || s.lines > 0 || s.audit.Open() > 0
}
