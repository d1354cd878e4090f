// SPDX-License-Identifier: Apache-2.0

package file

import (
	"maps"
	"os"
	"slices"
	"sync"
	"time"
)

// The sources of problems that are about no instance; none can be an instance.
const (
	aboutFolder  = "folder:"
	aboutFiles   = "files:"
	aboutNotices = "notices:"
)

// scanner keeps the feed of a Directory as the folder is.
type scanner struct {
	d    *Directory
	wake chan struct{} // one token: what the goroutine waits for has changed

	mu       sync.Mutex // held while looking, so that looks do not overlap
	running  bool
	watching bool // a Watch is open: look at every Poll, use notifications
	sources  map[string]*source
	strange  map[string]struct{} // public names that are no instances and were reported
	last     time.Time           // of the last look at all files
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
	s.notices = notices{path: d.path, inject: d.config.inject}
}

// start makes the goroutine run.
//
//   - watch: for a watcher. A publisher alone only looks now and then, to
//     remove what dead publishers left.
func (s *scanner) start(watch bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watching = s.watching || watch
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
	s.mu.Lock()
	defer s.mu.Unlock()
	interval = max(s.d.config.CollectAfter/4, s.d.config.Poll)
	if s.watching {
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
	s.mu.Lock()
	defer s.mu.Unlock()
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
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look(look{list: true, read: true})
}

// look is how the folder is looked at.
type look struct {
	list bool // the names, or else only files that are known
	read bool // each file, or else only those that seem to need it, see source.glance
}

// look looks at the folder. The lock is held.
func (s *scanner) look(how look) {
	now := time.Now()
	// Time in which this process did not look proves nothing about publishers: it
	// may have been stopped together with them.
	elapsed := min(now.Sub(s.last), s.d.config.Expiry/2)
	if s.last.IsZero() {
		elapsed = 0
	}
	s.last = now
	s.lives.ask()
	defer s.lives.sweep()

	f, err := s.open()
	var entries []os.DirEntry
	complete := true
	if err == nil {
		defer f.close()
		if how.list {
			if entries, complete, err = f.names(s.d.config.MaxFiles); err != nil {
				s.lose(stamp{})
			}
		}
	}
	s.d.feed.Report(aboutFolder, s.missing.repeat(now, err))
	s.d.looks.add(now, err)
	if err != nil {
		s.notices.lost()
		for _, instance := range slices.Sorted(maps.Keys(s.sources)) {
			_ = s.settle(instance, s.sources[instance], same, elapsed)
		}
		return
	}
	if s.watching && !s.d.config.PollOnly {
		s.d.feed.Report(aboutNotices, s.notices.ensure()) // before looking: what comes later is noticed
		_ = s.lives.wait()                                // without it, they are asked about each Poll
	}
	if how.list {
		if !complete {
			err = &PathError{f.path, ErrTooManyFiles, "remove what is not the bus's, or raise MaxFiles"}
		}
		s.d.feed.Report(aboutFiles, err)
	}
	if !how.list && !how.read {
		s.glance(f, elapsed)
		return
	}
	candidates := s.candidates(f, entries, how.list)
	for _, instance := range slices.Sorted(maps.Keys(candidates)) {
		s.one(f, instance, candidates[instance], elapsed, how.read)
	}
}

// appeared looks at a folder that was missing: it may be this program that has made it
// now.
func (s *scanner) appeared() {
	s.mu.Lock()
	look := s.watching && s.folder == stamp{}
	s.mu.Unlock()
	if look {
		s.all()
	}
}

// open opens the folder. If it is not the one of the last look, all files are
// lost: that they are not in the new folder does not mean that their publishers
// withdrew them. Publishers that live write them again.
func (s *scanner) open() (*folder, error) {
	f, err := openFolder(s.d.path, s.d.config.inject)
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

// close ends the notifications; the goroutine has ended.
func (s *scanner) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices.close()
	s.lives.close()
}
