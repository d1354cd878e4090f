// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"fmt"
	"os"
	"time"

	"tagbus/bus/directory"
)

// A folder with too many entries is a problem of those that look, who do not find some, and of
// those that are announced, who are not found: also if they were there first and watch nothing.
// Those count the names now and then, which opens no file, and look at the files only if the
// names are too many.
const (
	countEach  = 10 * time.Second // how often a publisher asks whether the folder has changed, and then counts
	doubtEach  = time.Minute      // how often it looks at all files because there are so many names
	countBeats = 16               // beats of a client to one that counts
)

// tooManyFiles is the type of ErrTooManyFiles.
type tooManyFiles struct{}

func (tooManyFiles) Error() string        { return "too many files" }
func (tooManyFiles) Is(target error) bool { return target == directory.ErrCrowded }

// tooManyLive says that there are more entries than are followed.
func (d *Directory) tooManyLive() error {
	return d.crowding(fmt.Errorf("%w: more than %d entries of programs that may live: some are not found", ErrTooManyFiles, d.config.MaxFiles))
}

// tooManyNames says that there are more names than are looked at.
func (d *Directory) tooManyNames() error {
	return d.crowding(fmt.Errorf("%w: more than %d names: those behind are not looked at", ErrTooManyFiles, d.config.MaxFiles*namesPerFile))
}

func (d *Directory) crowding(cause error) error {
	return &PathError{d.path, cause, "remove what is not the bus's, use a folder for each part of the bus, or raise --max-entries of all programs (MaxFiles in file.Config)"}
}

// crowd sets or ends the problem of a folder with too many entries, which concerns those that
// are announced here, too: they are told with their next beat.
//
//   - left: files of which nothing is known.
//   - complete: all names were looked at.
func (s *scanner) crowd(left int, complete bool) {
	var err error
	switch {
	case !complete:
		err = s.d.tooManyNames()
	case left > 0:
		err = s.d.tooManyLive()
	}
	s.d.feed.Report(aboutFiles, err)
	s.d.crowded.Store(&err)
}

// seldom returns how often one that does not watch looks at all files, to remove what the dead
// have left.
func (s *scanner) seldom() time.Duration { return max(s.d.config.CollectAfter/4, s.d.config.Poll) }

// countEach returns how often one that does not watch counts names.
func (s *scanner) countEach() time.Duration {
	return min(max(countEach, s.d.config.Poll), s.seldom())
}

// tickSeldom is tick for one that does not watch.
func (s *scanner) tickSeldom() {
	now, each := time.Now(), s.countEach()
	if now.Sub(s.last) >= s.seldom()-each/2 {
		s.whole()
		return
	}
	f, err := s.open()
	if err != nil {
		return // the next look at all files tells
	}
	defer f.close()
	if now.Sub(s.pace.changed) >= each+each/2 { // it is counted once more after it was seen to be another one, see settleTime
		return
	}
	public := 0
	complete, err := f.each(s.d.config.MaxFiles*namesPerFile, func(entry os.DirEntry) {
		if isPublic(entry.Name()) {
			public++
		}
	})
	switch {
	case err != nil:
	case !complete, public <= s.d.config.MaxFiles:
		s.crowd(0, complete)
	case now.Sub(s.doubted) >= doubtEach: // some may have ended
		s.doubted = now
		s.whole()
	}
}

// countClients sets whether there are too many clients, if it is time to: nothing of their
// directory looks at files of others. Inside.
func (d *Directory) countClients() {
	all := d.announced()
	if d.counts++; d.counts%countBeats != 0 || len(all) == 0 {
		return
	}
	f, err := d.openFolder(d.writing)
	if err != nil {
		return
	}
	defer f.close()
	if own, err := f.stamped(all[0].instance + suffix); err == nil {
		_ = d.countLive(f, own)
	}
}

// countLive sets whether there are too many clients, and returns the names of their files, up to
// four times as many as are followed. Those that have been silent for so long that they are gone do not
// count. Inside.
//
//   - own: of a file that was written of late. It says what time it is by the clock of the file
//     system.
func (d *Directory) countLive(f *folder, own stamp) (names []string) {
	if _, err := f.each(sourcesPerFile*d.config.MaxFiles, func(entry os.DirEntry) {
		if isPublic(entry.Name()) && entry.Type().IsRegular() {
			names = append(names, entry.Name())
		}
	}); err != nil {
		return nil
	}
	live := len(names)
	if live > d.config.MaxFiles {
		live = 0
		for _, name := range names {
			if seen, err := f.stamped(name); err == nil && own.written().Sub(seen.written()) < d.config.Expiry {
				live++
			}
		}
	}
	var crowded error
	if live > d.config.MaxFiles {
		crowded = d.tooManyLive()
	}
	d.crowded.Store(&crowded)
	return names
}
