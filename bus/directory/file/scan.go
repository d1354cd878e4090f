// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"os"
	"path/filepath"
	"time"
)

// The functions in this file make one look at the folder, in the order in which
// they run. The caller is inside of the scanner's gate.

// candidates returns the instances to look at: those in the folder, if it is listed,
// with an error if their file is not to be opened, and those that are known. A file that
// is not listed may still be there: some file systems lose names from a listing
// while they are renamed.
func (s *scanner) candidates(f *folder, entries []os.DirEntry, listed bool) map[string]error {
	result := make(map[string]error, len(s.sources))
	for instance := range s.sources {
		result[instance] = nil
	}
	if !listed {
		return result
	}
	strange := make(map[string]struct{})
	for _, entry := range entries {
		name := entry.Name()
		if isTemporary(name) {
			continue
		}
		instance, err := instanceOf(name)
		switch {
		case err != nil && len(strange) >= s.d.config.MaxFiles: // as many are said
		case err != nil:
			strange[name] = struct{}{}
			s.d.feed.Report(name, fileError(filepath.Join(f.path, name), err))
		case !entry.Type().IsRegular():
			result[instance] = ErrNotRegular
		default:
			result[instance] = nil
		}
	}
	for name := range s.strange {
		if _, still := strange[name]; !still {
			s.d.feed.Report(name, nil)
		}
	}
	s.strange = strange
	return result
}

// one looks at the file of one instance and tells the feed.
//
//   - verdict: why the file is not to be opened, or nil.
//   - elapsed: time to count as silence if there is no new beat.
//   - read: open the file; otherwise only if it seems to be needed.
func (s *scanner) one(f *folder, instance string, verdict error, elapsed time.Duration, read bool) {
	known := s.sources[instance]
	first := known == nil
	if first {
		if !s.hasRoom() {
			return // reported by the look at all files
		}
		known = &source{}
	}
	found := bad
	if verdict == nil {
		quick := false
		if !read {
			found, quick = known.glance(f, instance, elapsed, s.d.config.Expiry)
		}
		if !quick {
			found, verdict = known.look(f, instance, s.d.config)
		}
	}
	if found == absent {
		if known.lost && known.shown {
			if s.settle(instance, known, same, elapsed); known.shown {
				return
			}
		}
		delete(s.sources, instance)
		s.d.feed.Remove(instance, nil)
		s.d.feed.Report(instance, nil)
		return
	}
	known.lost = false
	s.sources[instance] = known
	if first && found == renewed {
		_, known.spared = s.removed[instance]
		if delete(s.removed, instance); s.wasLeft(known) {
			found, known.silent = same, known.limit(s.d.config.Expiry)+1
		}
	}
	if s.settle(instance, known, found, elapsed); first && known.isCounted() {
		s.counted++
	}
	if verdict != nil {
		verdict = fileError(filepath.Join(f.path, instance+suffix), verdict)
	}
	s.d.feed.Report(instance, verdict)
	s.collect(f, instance, known)
}

// glance looks from outside at the files that are known, and then at those for which that
// is not enough.
//
//   - elapsed: as for one.
func (s *scanner) glance(f *folder, elapsed time.Duration) {
	for instance, known := range s.sources {
		found, ok := known.glance(f, instance, elapsed, s.d.config.Expiry)
		if !ok {
			s.one(f, instance, nil, elapsed, true)
			continue
		}
		s.settle(instance, known, found, elapsed)
		s.collect(f, instance, known)
	}
}

// settle tells the feed what a look means for the entry of an instance.
//
//   - found: bad also if the folder could not be read.
//   - elapsed: 0 if the last look at the whole folder has counted the time.
func (s *scanner) settle(instance string, known *source, found finding, elapsed time.Duration) {
	if found == renewed || found == beating {
		known.silent, known.quiet = 0, 0
	} else {
		known.silent += elapsed
		if found != bad && elapsed > 0 { // what could not be read may have had a beat
			known.quiet += s.slept
		}
	}
	why := known.judge(s.d.config.Expiry, s.ended)
	if why == nil {
		if found == renewed || found == beating && !known.shown {
			known.shown = true
			s.d.feed.Put(known.record.entry)
		}
		return
	}
	if known.shown || known.gone.IsZero() {
		known.shown, known.gone = false, s.last
		s.d.feed.Remove(instance, why)
	}
}

// ended reports whether a process has certainly ended.
func (s *scanner) ended(p process) bool { return s.lives.ended(p, s.watching.Load()) }
