// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"os"
	"path/filepath"
	"time"

	"tagbus/bus/directory"
)

// Survey is what one look at a folder shows, the files that Directory.List passes over
// included.
type Survey struct {
	Files  []Found       // those that are, or should be, about an entry; in the order of the folder
	Names  int           // of any kind, as far as they were looked at
	Others []string      // names that are passed over, the first few
	Passed int           // how many names are passed over; temporary files of publishers do not count
	All    bool          // false: there are more than 16 times Config.MaxFiles names
	Took   time.Duration // to list the names
}

// Found is a file that is, or should be, about an entry.
type Found struct {
	Name    string          // of the file
	Entry   directory.Entry // zero if Err is set
	Beats   uint64          // its counter of beats
	Beat    time.Duration   // how often it is renewed; 0 if the file does not say
	Written time.Time       // by the clock of the file system: the last beat or change; zero if unknown
	Ended   bool            // its process has certainly ended, which only programs in the same kernel and namespaces see
	PID     int             // of its process, which these see, too, and which has not ended; 0: unknown
	Err     error           // *PathError: why the file cannot be believed
}

// maxOthers is how many names of passed files a Survey has.
const maxOthers = 3

// Look looks once at the folder at path, and changes nothing: a file that a dead publisher
// has left behind is shown, and stays. It is for programs that show what is wrong with a
// folder.
//
//   - config: as for Open.
//   - Errors: those of Config.Validate; *PathError with ErrVanished, ErrNotDirectory,
//     ErrUnreadable or ErrHangs.
//   - Threads: any. Blocks: for the file system, Patience at most if it does not answer.
func Look(path string, config Config) (Survey, error) {
	if err := config.Validate(); err != nil {
		return Survey{}, err
	}
	config = config.withDefaults()
	g := newGate(path, config.faults, func(error) {})
	var s Survey
	var err error
	if hangs := g.do(func() { s, err = survey(path, g, config) }, nil); hangs != nil {
		return Survey{}, hangs
	}
	return s, err
}

// survey is Look inside of a gate.
func survey(path string, g *gate, config Config) (Survey, error) {
	f, err := openFolder(path, g, 0)
	if err != nil {
		return Survey{}, err
	}
	defer f.close()
	var s Survey
	start := time.Now()
	entries, err := s.list(f, config.MaxFiles*namesPerFile)
	s.Took = time.Since(start)
	if err != nil {
		return Survey{}, err
	}
	for _, name := range entries {
		if found, there := inspect(f, name, config); there {
			s.Files = append(s.Files, found)
		}
	}
	return s, nil
}

// list returns the public names of the folder, and counts the others.
func (s *Survey) list(f *folder, limit int) (public []string, err error) {
	s.All, err = f.each(limit, func(entry os.DirEntry) {
		name := entry.Name()
		if name == clientsName && entry.IsDir() {
			return
		}
		s.Names++
		switch {
		case isPublic(name):
			public = append(public, name)
		case !isTemporary(name):
			if s.Passed++; len(s.Others) < maxOthers {
				s.Others = append(s.Others, name)
			}
		}
	})
	return public, err
}

// inspect looks at one file; there is false if it has gone meanwhile.
func inspect(f *folder, name string, config Config) (found Found, there bool) {
	found.Name = name
	instance, err := instanceOf(name)
	var known source
	if err == nil {
		var what finding
		if what, err = known.look(f, instance, config); what == absent {
			return found, false
		}
	}
	if known.stamp != (stamp{}) {
		found.Written = time.Unix(known.stamp.mtime.Unix())
	}
	if err != nil {
		found.Err = fileError(filepath.Join(f.path, name), err)
		return found, true
	}
	found.Entry, found.Beats, found.Beat = known.record.entry, known.beats, known.record.beat
	if p := known.record.process; p.ended() {
		found.Ended = true
	} else if p.isNeighbour() {
		found.PID = p.PID
	}
	return found, true
}
