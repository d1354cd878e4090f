// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tagbus/bus/directory/file"
)

const (
	slowFolder = 500 * time.Millisecond // how often the folder is looked at: a look that takes longer delays the next
	maxEntries = 4096                   // file.Config.MaxFiles
	nfsExpiry  = 90 * time.Second       // see package file
	lowBytes   = 64 << 20
	noBytes    = 1 << 20
	lowFiles   = 1000
	noFiles    = 10
	clockSlack = time.Second // by which clocks may differ
)

// judgeFolder says what is wrong with the folder of the bus, if it is in one.
func judgeFolder(s *seen) []Finding {
	if s.servers != nil {
		return nil
	}
	f := &findings{group: "folder"}
	seen := &s.folder
	if errors.Is(seen.err, errEnded) { // which judge says
		return nil
	}
	if seen.err != nil {
		f.broken(s.bus, seen.err)
		return f.all
	}
	f.access(s.bus, seen)
	if seen.took > slowFolder {
		f.add(Warning, "folder-slow", s.bus, "look after its disk, or its server",
			"to list it, or to make a file in it, took %v: programs find each other late, and entries of programs that live may expire", short(seen.took))
	}
	f.entries(s.bus, len(s.living()), s.us.maxEntries)
	f.names(s.bus, &seen.survey)
	f.space(s.bus, seen)
	if seen.system.nfs && s.us.expiry < nfsExpiry {
		f.add(Note, "folder-nfs", s.bus, "start all programs with --expiry 90s, and this command too",
			"it is on NFS, which shows changes up to a minute late: programs that live may look dead")
	}
	if seen.timed {
		clock(seen.ahead, seen.about, s.us.expiry, func(l Level, text string) {
			f.add(l, "folder-clock", s.bus, "synchronize the clocks of both, for example by NTP",
				"the clock of its file system is %s: entries of dead programs are removed too early or too late", text)
		})
	}
	f.ok(s.bus, "it can be read%s; %s in %v", map[bool]string{true: " and written"}[seen.write == nil],
		count(seen.survey.Names, "name", "names"), short(seen.took))
	return f.sorted()
}

// broken says why the folder cannot be looked at.
func (f *findings) broken(bus string, err error) {
	pathError := (*file.PathError)(nil)
	switch {
	case errors.Is(err, errHangs):
		f.add(Error, "folder-hangs", bus, "look after its disk, or its server",
			"the file system does not answer: connections stay, and no program finds a new one")
	case errors.Is(err, file.ErrVanished):
		f.add(Error, "folder-missing", bus, "correct --bus, or start a publisher, which makes the folder",
			"there is no such folder, so no program finds another one by it")
	case errors.As(err, &pathError):
		f.add(Error, "folder-unreadable", bus, pathError.Hint, "%v: no program of this user finds another one", pathError.Err)
	default:
		f.add(Error, "folder-unreadable", bus, "check the file system", "%v: no program of this user finds another one", err)
	}
}

// access judges whether the folder can be written.
func (f *findings) access(bus string, seen *folderSeen) {
	switch err := seen.write; {
	case err == nil:
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		f.add(Note, "folder-read-only", bus, "if publishers or receivers are to run here, give this user permission",
			"this user can only read it, so that only subscribers and senders run here: %v", cause(err))
	case errors.Is(err, syscall.EFBIG):
		f.add(Error, "folder-unwritable", bus, "raise the limit of the size of files where programs are started (ulimit -f, LimitFSIZE= of systemd)",
			"no file can be made in it by a program with the limit of this one: %v", cause(err))
	default:
		f.add(Error, "folder-unwritable", bus, "free space, or check the file system",
			"no file can be made in it, so that entries cannot be renewed: %v", cause(err))
	}
}

// entries says that there are more programs than each of them follows, or nearly.
//
//   - living: entries that are renewed. The others go by themselves, and do not count.
func (f *findings) entries(bus string, living, most int) {
	most = cmp.Or(most, maxEntries)
	const full = "use a folder for each part of the bus, or start all programs with a larger --max-entries, and this command too"
	switch {
	case living > most:
		f.add(Error, "folder-full", bus, full, "it has %d entries of programs that live: programs follow %d (--max-entries), and do not find the others", living, most)
	case living >= most*9/10:
		f.add(Warning, "folder-full", bus, full, "it has %d entries of programs that live: programs follow %d (--max-entries), and would not find the others", living, most)
	}
}

// names says what is wrong with what lies in the folder.
func (f *findings) names(bus string, s *file.Survey) {
	if !s.All {
		f.add(Error, "folder-full", bus, "remove what is no entry, or what was not written for an hour", "it has more than %d names: programs look at so many, 16 for each entry of --max-entries, and do not find the others", s.Names)
	}
	if s.Passed > 0 {
		text := strings.Join(s.Others, ", ")
		if s.Passed > len(s.Others) {
			text += ", ..."
		}
		f.add(Note, "folder-names", bus, "keep other files elsewhere",
			"%s of other things than entries, at which all programs look: %s", count(s.Passed, "name", "names"), text)
	}
	for _, found := range s.Files {
		pathError := (*file.PathError)(nil)
		if errors.As(found.Err, &pathError) {
			f.add(Warning, "entry-damaged", filepath.Join(bus, found.Name), pathError.Hint,
				"%v: programs pass this entry over", pathError.Err)
		}
	}
}

// space judges whether the file system has room for entries.
func (f *findings) space(bus string, seen *folderSeen) {
	s := seen.system
	if seen.unknown != nil {
		return
	}
	const do = "free space on the file system"
	switch {
	case s.free < noBytes:
		f.add(Error, "disk-full", bus, do, "its file system has %d bytes free: new entries cannot be written", s.free)
	case s.countFiles && s.freeFiles < noFiles:
		f.add(Error, "disk-full", bus, do, "its file system has room for %d more files: new entries cannot be written", s.freeFiles)
	case s.free < lowBytes:
		f.add(Warning, "disk-nearly-full", bus, do, "its file system has %d MiB free: soon new entries cannot be written", s.free>>20)
	case s.countFiles && s.freeFiles < lowFiles:
		f.add(Warning, "disk-nearly-full", bus, do, "its file system has room for %d more files: soon new entries cannot be written", s.freeFiles)
	}
}

// clock tells how far a clock is from ours, if that is too far.
//
//   - about: how exact ahead is.
func clock(ahead, about, expiry time.Duration, tell func(l Level, text string)) {
	off := ahead.Abs() - about
	if off <= clockSlack {
		return
	}
	level, side := Warning, "ahead of"
	if off >= expiry {
		level = Error
	}
	if ahead < 0 {
		side = "behind"
	}
	tell(level, short(ahead.Abs()).String()+" "+side+" that of this host")
}

// cause returns what the system said, without the path.
func cause(err error) error {
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return errno
	}
	return err
}
