// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"tagbus/bus/directory"
)

// tornReads is how often a beat line is read until it fits. A read can meet the
// write of 70 bytes now and then, not every time.
const tornReads = 5

// source is what a reader knows of one instance's file.
type source struct {
	record *record // last good one; nil before
	beats  uint64  // counter when it was last seen to change
	stamp  stamp   // of the file that record, or bad, is about
	bad    error   // why the file with that stamp cannot be believed; nil if it can

	silent time.Duration // how long the reader has looked and seen no new beat
	quiet  time.Duration // the same of looks that could read the file, and how long it was between those that are far apart
	unread time.Duration // of looks since the beat was read
	newer  bool          // the file was written since: its beat is likely to be above beats
	shown  bool          // the feed has the entry
	lost   bool          // the folder was missing or is another one since the file was seen
	gone   time.Time     // when it was taken away, on the monotonic clock
	ended  bool          // its process has certainly ended
	spared bool          // it was removed as silent, and came back
	tried  time.Time     // when it was last to be removed
	stuck  error         // why it could not be; nil if it could
}

// finding is the outcome of one look at a file.
type finding int

const (
	same    finding = iota // the beat did not change
	beating                // a beat not seen before, of the same entry
	renewed                // an entry not seen before
	absent                 // no such file
	bad                    // the file cannot be believed; source.bad says why
)

// glance looks at the file of an instance from outside: when was it written? It is for an
// entry that was there a moment ago, and costs a quarter of look. ok is false if look has
// to follow: the file is another one, or it is time to read the beat. It is, long before the
// entry expires, if the file was not written, and now and then if it was.
//
//   - elapsed: since the last look.
func (s *source) glance(f *folder, instance string, elapsed, expiry time.Duration) (found finding, ok bool) {
	if s.record == nil || s.bad != nil || s.lost || !s.shown && !s.isGone() {
		return same, false
	}
	if s.unread+elapsed >= 2*expiry || s.shown && s.silent+elapsed >= s.limit(expiry)/2 {
		return same, false
	}
	now, err := f.stamped(instance + suffix)
	if err != nil || !s.stamp.sameFile(now) || s.stamp.owner != now.owner || s.stamp.mode != now.mode {
		return same, false
	}
	s.unread += elapsed
	if s.stamp == now {
		return same, true
	}
	if s.isGone() { // that it is back has to be read
		return same, false
	}
	s.stamp, s.newer = now, true
	return beating, true
}

// look reads what is new in the file of an instance.
//
//   - Errors: none for absent, same, beating and renewed. For bad a bare cause; the
//     system's error or a sentinel, wrapped.
//   - Blocks: for the file system.
func (s *source) look(f *folder, instance string, config Config) (finding, error) {
	file, stamp, err := f.open("read", instance+suffix, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return absent, nil
	}
	if err != nil {
		return bad, err
	}
	defer file.Close() //nolint:errcheck // opened for reading: nothing can be lost
	if err := believe(stamp, config); err != nil {
		return bad, err
	}
	if s.bad != nil && s.stamp == stamp {
		return bad, s.bad
	}
	f.gate.pass("content")
	if s.bad == nil && s.record != nil && s.stamp.sameFile(stamp) {
		if count, err := s.readTail(file); err == nil {
			written := s.stamp != stamp
			s.stamp = stamp
			return s.counted(count, written), nil
		}
		// Another file that got the same inode number, or an altered one.
	}
	record, count, err := readWhole(file, stamp.size, config.MaxTagParts)
	if err == nil && record.entry.Instance != instance {
		err = fmt.Errorf("%w, which is %s", ErrName, record.entry.Instance)
	}
	written := s.stamp != stamp
	s.stamp, s.bad = stamp, err
	if err != nil {
		return bad, err
	}
	if s.record == nil || s.record.sum != record.sum || s.record.revision != record.revision {
		s.record, s.beats, s.ended, s.unread, s.newer = record, count, false, 0, false
		return renewed, nil
	}
	return s.counted(count, written), nil
}

// counted takes note of the counter, which was read.
//
//   - written: the file was written since the last look or glance.
func (s *source) counted(count uint64, written bool) finding {
	seen, unread := s.newer, s.unread
	changed := s.beats != count
	s.beats, s.newer, s.unread = count, false, 0
	switch {
	case !changed:
		s.silent = max(s.silent, unread) // what was written was no beat
		return same
	case seen && !written: // it is the one that glance has seen
		return same
	}
	return beating
}

// readTail reads the beat of a file whose other lines are known.
//
//   - Errors: errTorn, which also stands for another content, and the system's.
func (s *source) readTail(file *os.File) (count uint64, err error) {
	var line [beatBytes]byte
	for range tornReads {
		if _, err = file.ReadAt(line[:], s.stamp.size-int64(beatBytes)); err != nil {
			return 0, err
		}
		if count, err = readBeat(line[:], s.record.revision, s.record.sum); err == nil {
			return count, nil
		}
	}
	return 0, err
}

// readWhole reads and decodes a file of that size.
func readWhole(file *os.File, size int64, maxTagParts int) (*record, uint64, error) {
	data := make([]byte, size)
	for attempt := 1; ; attempt++ {
		n, err := file.ReadAt(data, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, err
		}
		r, count, err := decode(data[:n], maxTagParts)
		if !errors.Is(err, errTorn) || attempt == tornReads {
			return r, count, err
		}
	}
}

// believe applies the rules that need no reading.
func believe(s stamp, config Config) error {
	switch {
	case s.size > config.MaxFileBytes:
		return fmt.Errorf("%w: %d bytes, at most %d are read", ErrTooLarge, s.size, config.MaxFileBytes)
	case len(config.TrustedOwners) == 0:
		return nil
	case !slices.Contains(config.TrustedOwners, s.owner):
		return fmt.Errorf("%w: user %d", ErrForeignOwner, s.owner)
	case s.mode&0o022 != 0:
		return fmt.Errorf("%w: group or others may write it (mode %#o)", ErrForeignOwner, s.mode)
	}
	return nil
}

// judge returns nil if the entry is alive, or else why not: directory.ErrDead or
// directory.ErrExpired.
//
//   - ended: reports whether a process has certainly ended.
func (s *source) judge(expiry time.Duration, ended func(process) bool) error {
	if s.record == nil {
		return nil
	}
	s.ended = s.ended || ended(s.record.process)
	switch {
	case s.ended:
		return directory.ErrDead
	case s.silent > s.limit(expiry):
		return directory.ErrExpired
	}
	return nil
}

// fileError explains why a file in the folder is skipped.
func fileError(path string, err error) error {
	hint := "remove the file; a publisher that lives writes it again"
	switch {
	case errors.Is(err, ErrVersion):
		hint = "use one release of publishers and subscribers"
	case errors.Is(err, ErrTooManyTags):
		hint = "announce ranges or patterns instead of single tags, or raise MaxTagParts in all publishers and subscribers (file.Config)"
	case errors.Is(err, ErrTooLarge):
		hint = "remove the file, or raise MaxFileBytes in all publishers and subscribers (file.Config)"
	case errors.Is(err, ErrForeignOwner):
		hint = "remove the file, or add the user to TrustedOwners"
	case errors.Is(err, ErrName), errors.Is(err, ErrNotRegular):
		hint = "remove it: only publishers write files *" + suffix + " here"
	case errors.Is(err, ErrDamaged), errors.Is(err, ErrLeftBehind):
	case errors.Is(err, fs.ErrPermission): // the mistake is of the program that has written it
		hint = "start the program that writes it with a umask that lets others read, as 022 (UMask= of systemd), or give this user permission"
		err = wrap(ErrUnreadable, err)
	default:
		hint = hintFor(err)
		err = wrap(ErrUnreadable, err)
	}
	return &PathError{path, err, hint}
}

// tooLarge and tooMany explain why an entry cannot be announced.
func tooLarge(path string, size, limit int64) error {
	return fileError(path, fmt.Errorf("%w: the entry needs %d bytes, at most %d are written", ErrTooLarge, size, limit))
}

func tooMany(path string, parts, limit int) error {
	return fileError(path, fmt.Errorf("%w: %d, at most %d are written", ErrTooManyTags, parts, limit))
}

// instanceOf returns the instance that a public name is about.
func instanceOf(name string) (string, error) {
	instance := strings.TrimSuffix(name, suffix)
	if !directory.ValidInstance(instance) {
		return "", fmt.Errorf("%w: must be 1 to 64 letters, digits, - and _", ErrName)
	}
	return instance, nil
}
