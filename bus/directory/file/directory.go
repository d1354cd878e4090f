// SPDX-License-Identifier: Apache-2.0

package file

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tagbus/bus/directory"
	"tagbus/internal/plain"
)

// Directory is a directory.Directory in a folder. Open makes one; it must not be
// copied, and must be closed.
//
// It has up to two goroutines of its own: one renews what is announced here, one
// looks at the folder while anything is watched or announced. Neither waits for
// a notify function.
//
// Threads: any, for all methods.
type Directory struct {
	path   string // absolute, so that a change of the working directory does no harm
	config Config
	feed   directory.Feed
	scan   scanner
	looks  looks

	quit    chan struct{} // closed by the first Close
	settled chan struct{} // closed when that has stopped the goroutines and withdrawn all
	running sync.WaitGroup

	mu           sync.Mutex
	closed       bool
	beating      bool
	publications map[string]*publication // by instance
	closeErr     error
}

var _ directory.Directory = (*Directory)(nil)

// Open returns the directory in the folder at path. If there is nothing, the first
// Announce creates it, with the folders above it: a path that a subscriber has
// mistyped leaves no folder behind. Watch and List report ErrVanished until then.
//
//   - path: of a folder; relative paths count from the present working directory.
//   - config: the zero value is the default.
//   - Errors: those of Config.Validate; *PathError with ErrNotDirectory or
//     ErrUnreadable. A folder that may be read but not written opens: it serves
//     subscribers.
//   - Threads: any. Blocks: for the file system.
func Open(path string, config Config) (*Directory, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, &PathError{path, wrap(ErrUnreadable, err), "give an absolute path"}
	}
	d := &Directory{
		path: absolute, config: config.withDefaults(),
		quit: make(chan struct{}), settled: make(chan struct{}),
		publications: make(map[string]*publication),
	}
	d.scan.init(d)
	switch f, err := openFolder(d.path, d.config.inject); {
	case err == nil:
		f.close()
	case !errors.Is(err, ErrVanished):
		return nil, err
	}
	if report := d.config.OnProblem; report != nil {
		if _, err := d.feed.Watch(func(e directory.Event) {
			if e.Kind == directory.Problem {
				report(e.Err)
			}
		}); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// Announce writes the entry's file and keeps it alive.
//
//   - Result: nil error means that the file is on the disk, synced.
//   - Errors: *directory.FieldError joined, directory.ErrClosed; *PathError with
//     ErrUnwritable, which also means that the folder cannot be created, ErrUnreadable
//     (the folder), ErrTooLarge, ErrTooManyTags; directory.ErrAnnounced also if another process lives, or may live, that
//     announced this instance.
//   - Blocks: for the file system.
func (d *Directory) Announce(e directory.Entry) (directory.Registration, error) {
	if err := e.Validate(); err != nil {
		return nil, err
	}
	wanted, err := d.encodeText(e, 1)
	if err != nil {
		return nil, err
	}
	p := &publication{directory: d, instance: e.Instance, wanted: wanted}
	p.mu.Lock() // before anyone can find it: its first beat comes after it is shown
	defer p.mu.Unlock()
	if err := d.remember(p); err != nil {
		return nil, err
	}
	f, err := d.writableFolder()
	if err == nil {
		defer f.close()
		if err = d.free(f, e.Instance); err == nil {
			if err = p.show(f); err != nil && p.shown.record != nil {
				err = errors.Join(err, f.remove(e.Instance+suffix))
			}
		}
	}
	if err != nil {
		p.withdrawn, p.removed = true, true
		d.forget(p)
		return nil, err
	}
	d.scan.start(false)
	return p, nil
}

// free returns nil if instance may be announced: nothing has its name, or only
// what a dead publisher or a stranger left.
func (d *Directory) free(f *folder, instance string) error {
	var s source
	found, err := s.look(f, instance, d.config)
	if err == nil && found != absent && !s.record.process.ended() {
		return fmt.Errorf("%w: %s is alive", directory.ErrAnnounced, plain.Text(filepath.Join(d.path, instance+suffix)))
	}
	return nil
}

// remember enters p, so that it gets beats.
func (d *Directory) remember(p *publication) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return directory.ErrClosed
	case d.publications[p.instance] != nil:
		return directory.ErrAnnounced
	}
	d.publications[p.instance] = p
	if !d.beating {
		d.beating = true
		d.running.Go(d.beat)
	}
	return nil
}

// forget ends the beats of p.
func (d *Directory) forget(p *publication) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.publications[p.instance] == p {
		delete(d.publications, p.instance)
		d.feed.Report(writingOf(p.instance), nil)
	}
	p.End()
}

// announced returns what gets beats.
func (d *Directory) announced() []*publication {
	d.mu.Lock()
	defer d.mu.Unlock()
	result := make([]*publication, 0, len(d.publications))
	for _, p := range d.publications {
		result = append(result, p)
	}
	slices.SortFunc(result, func(a, b *publication) int { return cmp.Compare(a.instance, b.instance) })
	return result
}

// beat renews what is announced until the directory is closed.
func (d *Directory) beat() {
	ticker := time.NewTicker(d.config.Beat)
	defer ticker.Stop()
	for {
		select {
		case <-d.quit:
			return
		case <-ticker.C:
		}
		d.renewAll()
	}
}

// renewAll renews what is announced. A call into a file system that hangs does not
// return: that is reported from aside.
func (d *Directory) renewAll() {
	patience := d.config.Expiry / 2 // by then others have seen no beat for nearly as long
	all := d.announced()
	hangs := time.AfterFunc(patience, func() {
		for _, p := range all {
			d.reportWriting(p, &PathError{d.path, fmt.Errorf("%w: for %v", ErrHangs, patience), "look after its server"})
		}
	})
	defer hangs.Stop()
	for _, p := range all {
		d.reportWriting(p, p.renew())
	}
}

// reportWriting sets or ends the problem of writing an entry.
func (d *Directory) reportWriting(p *publication, err error) {
	d.mu.Lock()
	if d.publications[p.instance] == p { // else Withdraw came meanwhile and ended it
		d.feed.Report(writingOf(p.instance), err)
	}
	d.mu.Unlock()
	p.Tell(err)
}

// writingOf is the source of the problem of writing an entry: no instance
// has a colon.
func writingOf(instance string) string { return "write:" + instance }

func (d *Directory) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// Watch reports the entries that are there and all that follows, as
// directory.Directory says.
//
//   - Errors: directory.ErrClosed. A folder that cannot be read is no error but
//     a Problem, since it may come back.
//   - Blocks: for the file system.
func (d *Directory) Watch(notify func(directory.Event)) (stop func(), err error) {
	if d.isClosed() {
		return nil, directory.ErrClosed
	}
	d.scan.start(true)
	d.scan.all()
	return d.feed.Watch(notify)
}

// List looks at the folder and returns the entries in the order of their
// instances. Without Watch it cannot know of a publisher on another host that it
// is dead.
//
//   - Errors: the problems that persist, joined: *PathError with any sentinel of
//     this package that is reported. directory.ErrClosed.
//   - Blocks: for the file system.
func (d *Directory) List() ([]directory.Entry, error) {
	if d.isClosed() {
		return nil, directory.ErrClosed
	}
	d.scan.all()
	return d.feed.List()
}

// Close withdraws what is announced, and stops all goroutines and watchers, which
// are not told Gone. It returns when no notify function runs; called from within
// one it returns at once as far as notify functions go. Idempotent.
//
//   - Errors: those of Registration.Withdraw, joined; the same at each call.
//   - Blocks: for the file system.
func (d *Directory) Close() error {
	d.mu.Lock()
	first := !d.closed
	d.closed = true
	d.mu.Unlock()
	if first {
		close(d.quit)
		d.running.Wait()
		d.scan.close()
		var errs []error
		for _, p := range d.announced() {
			errs = append(errs, p.Withdraw())
		}
		d.closeErr = errors.Join(errs...)
		close(d.settled)
	}
	<-d.settled
	d.feed.Close()
	return d.closeErr
}
