// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"os"
	"slices"
	"time"
)

// Programs that were killed leave their files. Within a kernel they are seen to have ended;
// those of another host or container are only silent. Their files go after a while, and
// meanwhile do not keep entries of programs that live from being found.

// Bounds of what is kept of a folder, as multiples of Config.MaxFiles.
const (
	namesPerFile   = 16 // names that are looked at
	sourcesPerFile = 4  // files that are known, those of the gone included
)

// early is by how much a file may have been written later than the clock of this host says,
// before its time counts as wrong.
const early = time.Minute

// isCounted reports whether a file counts for Config.MaxFiles: it is about a program that
// may live.
func (s *source) isCounted() bool { return s.record != nil && (s.shown || s.gone.IsZero()) }

// isGone reports whether the program of a file was found to be gone, and has not come back.
func (s *source) isGone() bool { return s.record != nil && !s.shown && !s.gone.IsZero() }

// limit is how long the program may be silent.
func (s *source) limit(expiry time.Duration) time.Duration { return max(expiry, 3*s.record.beat) }

// order returns the files that a look with the names of the folder is about, in order:
// first those that are known. If there is no room for all others, those that were written
// last come first. It notes when the last one of all was written.
//
//   - written: when the others were; zero if that is not known.
func (s *scanner) order(f *folder, candidates map[string]error) (order []string, written map[string]time.Time) {
	var known, others []string
	written = make(map[string]time.Time)
	s.newest = time.Time{}
	latest := time.Now().Add(early)
	note := func(at time.Time) {
		if at.After(s.newest) && at.Before(latest) {
			s.newest = at
		}
	}
	for instance, verdict := range candidates {
		if source := s.sources[instance]; source != nil {
			known = append(known, instance)
			note(source.stamp.written())
			continue
		}
		others = append(others, instance)
		if verdict == nil {
			if stamp, err := f.stamped(instance + suffix); err == nil {
				written[instance] = stamp.written()
				note(stamp.written())
			}
		}
	}
	slices.Sort(others)
	if s.counted+len(others) > s.d.config.MaxFiles || len(candidates) > sourcesPerFile*s.d.config.MaxFiles {
		slices.SortStableFunc(others, func(a, b string) int { // times in the future are wrong
			return cmp.Or(-cmp.Compare(boolRank(written[a].Before(latest)), boolRank(written[b].Before(latest))), written[b].Compare(written[a]))
		})
		return slices.Concat(slices.Sorted(slices.Values(known)), others), written
	}
	return slices.Sorted(maps.Keys(candidates)), written
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// count counts the files of programs that may live.
func (s *scanner) count() {
	s.counted = 0
	for _, known := range s.sources {
		if known.isCounted() {
			s.counted++
		}
	}
}

// hasRoom reports whether one more file may be looked at.
func (s *scanner) hasRoom() bool {
	return s.counted < s.d.config.MaxFiles && len(s.sources) < sourcesPerFile*s.d.config.MaxFiles
}

// makeRoom forgets a file that does not count, the one that was written longest ago, for one
// that was written later: files of the gone that cannot be removed keep no program out. It
// reports whether one more file may be looked at.
//
//   - written: when the file was that is to be looked at. One that was written before all that
//     are known is not: it would take their place, and they its place, in each look.
func (s *scanner) makeRoom(written time.Time) bool {
	if s.hasRoom() {
		return true
	}
	if s.counted >= s.d.config.MaxFiles {
		return false
	}
	if s.spare == nil {
		s.spare = s.uncounted()
	}
	for ; len(s.spare) > 0; s.spare = s.spare[1:] {
		instance := s.spare[0]
		known := s.sources[instance]
		if known == nil || known.isCounted() { // since the list was made
			continue
		}
		if !s.writtenAt(known).Before(written) {
			return false
		}
		delete(s.sources, instance)
		s.d.feed.Report(instance, nil)
		return true
	}
	return false
}

// uncounted returns the instances of known files that do not count, those that were written
// longest ago first.
func (s *scanner) uncounted() []string {
	all := []string{}
	for instance, known := range s.sources {
		if !known.isCounted() {
			all = append(all, instance)
		}
	}
	slices.SortFunc(all, func(a, b string) int {
		return cmp.Or(s.writtenAt(s.sources[a]).Compare(s.writtenAt(s.sources[b])), cmp.Compare(a, b))
	})
	return all
}

// writtenAt returns when a known file was written; long ago, if its time is wrong.
func (s *scanner) writtenAt(known *source) time.Time {
	if at := known.stamp.written(); at.Before(s.last.Add(early)) {
		return at
	}
	return time.Time{}
}

// isOld reports whether a file was written so long before the last one of the folder that
// its program is gone, however seldom it beats.
func (s *scanner) isOld(written time.Time) bool {
	return s.newest.Sub(written) >= max(s.d.config.CollectAfter, s.d.config.Expiry, 3*maxBeat)
}

// wasLeft reports whether a file that is seen for the first time was left behind: others in
// the folder were written long after it.
func (s *scanner) wasLeft(known *source) bool {
	return s.newest.Sub(known.stamp.written()) >= max(s.d.config.CollectAfter, known.limit(s.d.config.Expiry))
}

// collect removes the file of a program that has ended, once it is old, or that has been
// silent for Config.CollectAfter while this one looked. If that lives after all, it writes
// the file again with its next beat; then it is left alone from now on: it is this
// program that sees the beats too late.
func (s *scanner) collect(f *folder, instance string, known *source) {
	if known.bad != nil || !known.isGone() || known.spared && !known.ended || s.d.announces(instance) {
		return
	}
	after := s.d.config.CollectAfter
	gone := s.last.Sub(known.gone)
	switch {
	case known.ended && known.stamp.age() < after && gone < after:
		return
	case !known.ended && known.quiet < after+known.limit(s.d.config.Expiry):
		return
	case !known.tried.IsZero() && s.last.Sub(known.tried) < after:
		return
	}
	if !known.ended { // its newest beat may not have been read
		found, err := known.look(f, instance, s.d.config)
		if err != nil || found != same {
			if found != absent && found != bad {
				s.settle(instance, known, found, 0)
			}
			return
		}
	}
	if known.tried, known.stuck = s.last, f.remove(instance+suffix); known.stuck != nil {
		return
	}
	if !known.ended && len(s.removed) < sourcesPerFile*s.d.config.MaxFiles {
		s.removed[instance] = struct{}{}
	}
	delete(s.sources, instance)
	s.d.feed.Report(instance, nil)
}

// reportStuck sets or ends the problem of files that this user may not remove: one for all
// of them, told again when they are twice as many.
func (s *scanner) reportStuck() {
	var cause error
	n := 0
	for _, known := range s.sources {
		if known.isGone() && known.stuck != nil {
			n, cause = n+1, known.stuck
		}
	}
	if n == 0 {
		s.d.feed.Report(aboutLeft, nil)
		return
	}
	s.d.feed.Report(aboutLeft, &PathError{
		s.d.path, fmt.Errorf("%w: %d or more files *%s, which this user cannot remove: %w", ErrLeftBehind, 1<<(bits.Len(uint(n))-1), suffix, cause),
		"remove those that were not written for an hour, as their owner; they do not keep others from being found",
	})
}

// half is a temporary file: one that is half written, or was left so.
type half struct {
	stamp stamp
	since time.Time // it has had the stamp
}

// collectTemporaries removes the files that programs left half written: those that were written long before the newest
// file of the folder, and those that have not changed while this one looked. The clock of this host decides nothing: it
// may be ahead, and the file that of a program that writes it now. One that was only stopped for so long writes it again.
func (s *scanner) collectTemporaries(f *folder, entries []os.DirEntry) {
	after, halves := s.d.config.CollectAfter, make(map[string]half)
	for _, entry := range entries {
		name := entry.Name()
		if !isTemporary(name) {
			continue
		}
		stamp, err := f.stamped(name)
		if err != nil {
			continue
		}
		h, known := s.halves[name]
		if !known || h.stamp != stamp {
			h = half{stamp, s.last}
		}
		if (s.newest.Sub(stamp.written()) >= after || s.last.Sub(h.since) >= after) && f.remove(name) == nil {
			continue
		}
		if len(halves) < s.d.config.MaxFiles {
			halves[name] = h
		}
	}
	s.halves = halves
}
