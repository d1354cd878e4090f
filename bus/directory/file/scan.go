// SPDX-License-Identifier: Apache-2.0

package file

import (
	"os"
	"path/filepath"
	"time"
)

// The functions in this file make one look at the folder, in the order in which
// they run. The scanner's lock is held.

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
			s.collectTemporary(f, name)
			continue
		}
		instance, err := instanceOf(name)
		switch {
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
	if known == nil {
		if len(s.sources) >= s.d.config.MaxFiles {
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
			if _ = s.settle(instance, known, same, elapsed); known.shown {
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
	if left := s.settle(instance, known, found, elapsed); verdict == nil {
		verdict = left
	}
	if verdict != nil {
		verdict = fileError(filepath.Join(f.path, instance+suffix), verdict)
	}
	s.d.feed.Report(instance, verdict)
	if known.ended {
		s.collect(f, instance, known)
	}
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
		} else if _ = s.settle(instance, known, found, elapsed); known.ended {
			s.collect(f, instance, known)
		}
	}
}

// settle tells the feed what a look means for the entry of an instance.
//
//   - Errors: ErrLeftBehind if the file should be removed by hand.
func (s *scanner) settle(instance string, known *source, found finding, elapsed time.Duration) error {
	if found == renewed || found == beating {
		known.silent = 0
	} else {
		known.silent += elapsed
	}
	why := known.judge(s.d.config.Expiry, s.ended)
	if why == nil {
		if found == renewed || found == beating && !known.shown {
			known.shown = true
			s.d.feed.Put(known.record.entry)
		}
		return nil
	}
	if known.shown || known.gone.IsZero() {
		known.shown, known.gone = false, s.last
		s.d.feed.Remove(instance, why)
	}
	if !known.ended && s.last.Sub(known.gone) >= s.d.config.CollectAfter {
		return ErrLeftBehind
	}
	return nil
}

// ended reports whether a process has certainly ended.
func (s *scanner) ended(p process) bool { return s.lives.ended(p, s.watching) }

// collect removes the file of a publisher that has ended, once it is old. A
// process that may not remove it leaves it to one that may.
func (s *scanner) collect(f *folder, instance string, known *source) {
	if known.bad == nil && known.stamp.age() >= s.d.config.CollectAfter && f.remove(instance+suffix) == nil {
		delete(s.sources, instance)
		s.d.feed.Report(instance, nil)
	}
}

// collectTemporary removes a file that a publisher left half written. One that
// was only stopped for so long writes it again.
func (s *scanner) collectTemporary(f *folder, name string) {
	file, stamp, err := f.open("read", name, 0)
	if err != nil {
		return
	}
	_ = file.Close() // opened for reading: nothing can be lost
	if stamp.age() >= s.d.config.CollectAfter {
		_ = f.remove(name) // if it cannot be, it does no harm
	}
}
