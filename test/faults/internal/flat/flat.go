// SPDX-License-Identifier: Apache-2.0

// Package flat decides whether what is measured of a process stays level, or grows as a leak does.
package flat

import (
	"cmp"
	"slices"
	"time"
)

// most is how many samples a Series keeps. When there are more, it keeps every second one.
const most = 2000

// windows is how many parts of a Series have a level.
const windows = 5

type sample struct {
	at    time.Duration
	value float64
}

// Series is a measure over time. The zero value is empty.
//
// Threads: one at a time.
type Series struct {
	samples []sample
	every   int // samples that stand for one that is kept
	skipped int
	max     float64
}

// Add adds a value at a time since any beginning. Times grow.
func (s *Series) Add(at time.Duration, value float64) {
	s.max = max(s.max, value)
	if s.skipped++; s.skipped < s.every {
		return
	}
	s.skipped = 0
	if s.samples = append(s.samples, sample{at, value}); len(s.samples) < most {
		return
	}
	for i := range most / 2 {
		s.samples[i] = s.samples[2*i]
	}
	s.samples = s.samples[:most/2]
	s.every = 2 * max(s.every, 1)
}

// Trend is how a Series goes on the whole.
type Trend struct {
	Over    time.Duration // that was looked at
	First   float64       // level at the beginning
	Last    float64       // level at the end
	PerHour float64       // slope
	Max     float64       // of all samples
}

// Growth returns what the slope makes of the whole time.
func (t Trend) Growth() float64 { return t.PerHour * t.Over.Hours() }

// Trend returns how the series goes after some time of warming up, and false if the rest is shorter than least.
//
// The rest has five windows. The level of each is its lower quartile, so that what comes and goes with a fault, or
// between two garbage collections, does not count. The slope is the median of those between any two windows.
func (s *Series) Trend(warm, least time.Duration) (Trend, bool) {
	rest := s.samples
	for len(rest) > 0 && rest[0].at < s.samples[0].at+warm {
		rest = rest[1:]
	}
	if len(rest) < 2*windows || rest[len(rest)-1].at-rest[0].at < least {
		return Trend{}, false
	}
	var levels []sample
	for i := range windows {
		levels = append(levels, level(rest[i*len(rest)/windows:(i+1)*len(rest)/windows]))
	}
	var slopes []float64
	for i, from := range levels {
		for _, to := range levels[i+1:] {
			slopes = append(slopes, (to.value-from.value)/(to.at-from.at).Hours())
		}
	}
	slices.Sort(slopes)
	return Trend{
		Over: rest[len(rest)-1].at - rest[0].at, First: levels[0].value, Last: levels[windows-1].value,
		PerHour: (slopes[(len(slopes)-1)/2] + slopes[len(slopes)/2]) / 2, Max: s.max,
	}, true
}

// level returns the lower quartile of a window, at its middle.
func level(window []sample) sample {
	sorted := slices.SortedFunc(slices.Values(window), func(a, b sample) int { return cmp.Compare(a.value, b.value) })
	return sample{window[len(window)/2].at, sorted[len(sorted)/4].value}
}
