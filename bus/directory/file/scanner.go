// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"
)

// The sources of problems that are about no instance; none can be an instance.
const (
	aboutFolder  = "folder:"
	aboutHanging = "hanging:"
	aboutFiles   = "files:"
	aboutNotices = "notices:"
	aboutLeft    = "left:"
)

// scanner keeps the feed of a Directory as the folder is. What is not marked otherwise is
// used inside of its gate only.
type scanner struct {
	d    *Directory
	wake chan struct{} // one token: what the goroutine waits for has changed

	gate     *gate       // looks are inside of it, so that they do not overlap
	watching atomic.Bool // a Watch is open: look at every Poll, use notifications
	running  bool        // guarded by d.mu
	sources  map[string]*source
	counted  int                 // sources of programs that may live, at the beginning of a look and new ones
	newest   time.Time           // when the file that was written last was, by the clock of the file system
	spare    []string            // what makeRoom may forget, in one look; nil: not determined yet
	removed  map[string]struct{} // instances whose files were removed though they may live
	halves   map[string]half     // temporary files, by name
	strange  map[string]struct{} // public names that are no instances and were reported
	slept    time.Duration       // since the look before: what counts towards the removal of a file
	last     time.Time           // of the last look at all files
	doubted  time.Time           // when all files were last looked at because of the number of names
	folder   stamp               // of the folder at the last look; zero while it is missing
	missing  missing
	notices  notices
	lives    lives
	pace     pace
}

func (s *scanner) init(d *Directory) {
	s.d = d
	s.wake = make(chan struct{}, 1)
	s.sources = make(map[string]*source)
	s.strange = make(map[string]struct{})
	s.removed = make(map[string]struct{})
	s.gate = newGate(d.path, d.config.faults, func(err error) {
		if err != nil {
			d.looks.up.Store(false) // until a look has an answer
		}
		d.feed.Report(aboutHanging, err)
	})
	s.notices = notices{path: d.path, gate: s.gate}
}

// start makes the goroutine run.
//
//   - watch: for a watcher. A publisher alone only looks now and then, to
//     remove what dead publishers left.
func (s *scanner) start(watch bool) {
	if watch {
		s.watching.Store(true)
	}
	s.d.mu.Lock() // Close must not begin to wait between the question and Go
	if !s.running && !s.d.closed {
		s.running = true
		s.d.running.Go(s.run)
	}
	s.d.mu.Unlock()
	s.poke()
}

// poke makes the goroutine look up again what to wait for.
func (s *scanner) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run looks at the folder until the directory is closed.
func (s *scanner) run() {
	ticker := time.NewTicker(s.d.config.CollectAfter)
	defer ticker.Stop()
	s.all() // a publisher that crashes again and again gets no further than this
	var interval time.Duration
	for {
		wanted, news, died := s.waiting()
		if interval != wanted {
			interval = wanted
			ticker.Reset(interval)
		}
		select {
		case <-s.d.quit:
			return
		case <-s.wake:
			s.appeared()
		case <-ticker.C:
			s.tick()
		case news := <-news:
			s.noticed(news)
		case <-died:
			s.tick()
		}
	}
}

// waiting returns what the goroutine waits for.
func (s *scanner) waiting() (interval time.Duration, news <-chan notice, died <-chan struct{}) {
	s.gate.enter()
	defer s.gate.leave()
	interval = s.countEach()
	if s.watching.Load() {
		interval = s.ticks()
	}
	return interval, s.notices.channel(), s.lives.died
}

// noticed looks at what a notification names.
func (s *scanner) noticed(news notice) {
	if news.all {
		s.all()
		return
	}
	instances := make(map[string]struct{})
	for _, name := range news.names {
		if instance, err := instanceOf(name); err == nil {
			instances[instance] = struct{}{}
		}
	}
	if len(instances) > 0 {
		s.some(instances)
	}
}

// some looks at the files of a few instances.
func (s *scanner) some(instances map[string]struct{}) {
	s.gate.enter()
	defer s.gate.leave()
	f, err := s.open()
	if err != nil {
		return // the next look at all files reports it
	}
	defer f.close()
	for _, instance := range slices.Sorted(maps.Keys(instances)) {
		s.one(f, instance, nil, 0, true)
	}
}

// all looks at the whole folder, and reads all files.
func (s *scanner) all() {
	s.gate.enter()
	defer s.gate.leave()
	s.whole()
}

// whole is all for what is inside of the gate.
func (s *scanner) whole() { s.look(look{list: true, read: true}) }

// look is how the folder is looked at.
type look struct {
	list bool // the names, or else only files that are known
	read bool // each file, or else only those that seem to need it, see source.glance
}

// look looks at the folder. The caller is inside of the gate.
func (s *scanner) look(how look) {
	now := time.Now()
	// Time in which this process did not look proves nothing about publishers: it
	// may have been stopped together with them.
	elapsed := min(now.Sub(s.last), s.d.config.Expiry/2)
	s.slept = min(now.Sub(s.last), max(elapsed, s.d.config.CollectAfter/2)) // one that does not watch looks seldom
	if s.last.IsZero() {
		elapsed, s.slept = 0, 0
	}
	s.last = now
	s.count()
	s.lives.ask()
	defer s.lives.sweep()

	f, err := s.open()
	var entries []os.DirEntry
	complete := true
	if err == nil {
		defer f.close()
		if how.list {
			if entries, complete, err = f.names(s.d.config.MaxFiles * namesPerFile); err != nil {
				s.lose(stamp{})
			}
		}
	}
	s.d.feed.Report(aboutFolder, s.missing.repeat(now, err))
	s.d.looks.add(now, err)
	if err != nil {
		s.notices.lost()
		for _, instance := range slices.Sorted(maps.Keys(s.sources)) {
			s.settle(instance, s.sources[instance], bad, elapsed)
		}
		return
	}
	if s.watching.Load() && !s.d.config.PollOnly {
		s.d.feed.Report(aboutNotices, s.notices.ensure()) // before looking: what comes later is noticed
		_ = s.lives.wait()                                // without it, they are asked about each Poll
	}
	defer s.reportStuck()
	if !how.list && !how.read {
		s.glance(f, elapsed)
		return
	}
	candidates := s.candidates(f, entries, how.list)
	left := 0
	s.spare = nil
	order, written := s.order(f, candidates)
	if how.list {
		s.collectTemporaries(f, entries)
	}
	for _, instance := range order {
		if s.sources[instance] != nil || s.makeRoom(written[instance]) {
			s.one(f, instance, candidates[instance], elapsed, how.read)
		} else if !s.isOld(written[instance]) {
			left++
		}
	}
	if how.list {
		s.crowd(left, complete)
	}
}

// appeared looks at a folder that was missing: it may be this program that has made it
// now.
func (s *scanner) appeared() {
	s.gate.enter()
	defer s.gate.leave()
	if s.watching.Load() && s.folder == (stamp{}) {
		s.whole()
	}
}

// open opens the folder. If it is not the one of the last look, all files are
// lost: that they are not in the new folder does not mean that their publishers
// withdrew them. Publishers that live write them again.
func (s *scanner) open() (*folder, error) {
	f, err := s.d.openFolder(s.gate)
	var now stamp
	if err == nil {
		now, err = f.stamp()
	}
	if now.dev != s.folder.dev || now.ino != s.folder.ino {
		s.lose(now)
		s.notices.lost()
	}
	s.pace.seen(now)
	return f, err
}

// lose makes all files lost, and remembers the folder to look for them in.
func (s *scanner) lose(now stamp) {
	s.folder = now
	for _, known := range s.sources {
		known.lost = true
	}
}

// close ends the notifications; the goroutine has ended. The caller is inside of the gate.
func (s *scanner) close() {
	s.notices.close()
	s.lives.close()
}
