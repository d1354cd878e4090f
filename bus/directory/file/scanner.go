package file

import (
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
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
	watching bool // someone watches: look at every Poll, use notifications
	sources  map[string]*source
	strange  map[string]struct{} // public names that are no instances and were reported
	last     time.Time           // of the last look at all files
	notices  notices
}

func (s *scanner) init(d *Directory) {
	s.d = d
	s.wake = make(chan struct{}, 1)
	s.sources = make(map[string]*source)
	s.strange = make(map[string]struct{})
	s.notices = notices{path: d.path}
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
		wanted, events, errs := s.waiting()
		if interval != wanted {
			interval = wanted
			ticker.Reset(interval)
		}
		select {
		case <-s.d.quit:
			return
		case <-s.wake:
		case <-ticker.C:
			s.all()
		case event := <-events:
			s.noticed(event, events)
		case <-errs: // notifications were lost
			s.all()
		}
	}
}

// waiting returns what the goroutine waits for.
func (s *scanner) waiting() (interval time.Duration, events <-chan fsnotify.Event, errs <-chan error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	events, errs = s.notices.channels()
	if s.watching {
		return s.d.config.Poll, events, errs
	}
	return max(s.d.config.CollectAfter/4, s.d.config.Poll), events, errs
}

// noticed looks at what notifications name: event, and those that wait behind it.
func (s *scanner) noticed(event fsnotify.Event, more <-chan fsnotify.Event) {
	instances := make(map[string]struct{})
	for {
		// A write is a beat, which can wait for the next look: entries change by rename.
		if event.Has(fsnotify.Create) || event.Has(fsnotify.Remove) || event.Has(fsnotify.Rename) {
			name := filepath.Base(event.Name)
			if filepath.Clean(event.Name) == s.d.path {
				s.all()
			} else if instance, err := instanceOf(name); err == nil && isPublic(name) {
				instances[instance] = struct{}{}
			}
		}
		select {
		case event = <-more:
			continue
		default:
		}
		break
	}
	if len(instances) > 0 {
		s.some(instances)
	}
}

// some looks at the files of a few instances.
func (s *scanner) some(instances map[string]struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := openFolder(s.d.path, s.d.config.inject)
	if err != nil {
		return // the next look at all files reports it
	}
	defer f.close()
	for _, instance := range slices.Sorted(maps.Keys(instances)) {
		s.one(f, instance, nil, 0)
	}
}

// all looks at the whole folder.
func (s *scanner) all() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	// Time in which this process did not look proves nothing about publishers: it
	// may have been stopped together with them.
	elapsed := min(now.Sub(s.last), s.d.config.Expiry/2)
	if s.last.IsZero() {
		elapsed = 0
	}
	s.last = now

	f, err := openFolder(s.d.path, s.d.config.inject)
	s.d.feed.Report(aboutFolder, err)
	if err != nil {
		s.notices.lost()
		for _, instance := range slices.Sorted(maps.Keys(s.sources)) {
			s.settle(instance, s.sources[instance], same, elapsed)
		}
		return
	}
	defer f.close()
	if s.watching && !s.d.config.PollOnly {
		s.d.feed.Report(aboutNotices, s.notices.ensure()) // before looking: what comes later is noticed
	}
	candidates := s.candidates(f)
	for _, instance := range slices.Sorted(maps.Keys(candidates)) {
		s.one(f, instance, candidates[instance], elapsed)
	}
}

// candidates returns the instances to look at: those in the folder, with an error
// if their file is not to be opened, and those that are known. A file that is
// not listed may still be there: some file systems lose names from a listing
// while they are renamed.
func (s *scanner) candidates(f *folder) map[string]error {
	entries, all, err := f.names(s.d.config.MaxFiles)
	if err == nil && !all {
		err = &FileError{f.path, ErrTooManyFiles, "remove what is not the bus's, or raise MaxFiles"}
	}
	s.d.feed.Report(aboutFiles, err)

	result := make(map[string]error, len(s.sources))
	for instance := range s.sources {
		result[instance] = nil
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
func (s *scanner) one(f *folder, instance string, verdict error, elapsed time.Duration) {
	known := s.sources[instance]
	if known == nil {
		if len(s.sources) >= s.d.config.MaxFiles {
			return // reported by the look at all files
		}
		known = &source{}
	}
	found := bad
	if verdict == nil {
		found, verdict = known.look(f, instance, s.d.config)
	}
	if found == absent {
		delete(s.sources, instance)
		s.d.feed.Remove(instance, nil)
		s.d.feed.Report(instance, nil)
		return
	}
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

// settle tells the feed what a look means for the entry of an instance.
//
//   - Errors: ErrLeftBehind if the file should be removed by hand.
func (s *scanner) settle(instance string, known *source, found finding, elapsed time.Duration) error {
	if found == renewed {
		known.silent = 0
	} else {
		known.silent += elapsed
	}
	why := known.judge(s.d.config.Expiry)
	if why == nil {
		if found == renewed {
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

// collect removes the file of a publisher that has ended, once it is old. Who may
// not remove it leaves it to those who may.
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

// close ends the notifications; the goroutine has ended.
func (s *scanner) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices.close()
}
