// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"tagbus/bus/directory"
)

// Directory is a directory.Directory in a folder. Open makes one; it must not be
// copied, and must be closed.
//
// It has up to two goroutines of its own: one renews what is announced here, one
// looks at the folder while anything is watched or announced. Neither waits for
// a notify function.
//
// A call into a file system whose server is gone does not return. No method waits for one
// for longer than Patience; what each does instead is with it. Two threads at most are in
// such calls for a Directory, one that looks and one that writes, and end when the file
// system answers.
//
// Threads: any, for all methods.
type Directory struct {
	path   string // absolute, so that a change of the working directory does no harm
	config Config
	feed   directory.Feed
	scan   scanner
	looks  looks

	clientsOnly bool // it is the directory of the clients of another one

	crowded atomic.Pointer[error] // why some may not find what is announced here
	counts  uint                  // beats of clients; inside of writing

	writing   *gate         // of all that changes files
	quit      chan struct{} // closed by the first Close
	settled   chan struct{} // closed when that has stopped the goroutines and withdrawn all
	withdrawn chan struct{} // closed when it has withdrawn all
	running   sync.WaitGroup

	mu           sync.Mutex // held for some steps only
	closed       bool
	beating      bool
	publications map[string]*publication   // by instance
	leaving      map[*publication]struct{} // withdrawn, and their files are to be removed yet
	unannounced  bool                      // nothing is left for Close to withdraw; does not change once closed is set
	closeErr     error                     // written before withdrawn is closed
	clients      *Directory                // nil: nothing has asked for it
}

var (
	_ directory.Directory   = (*Directory)(nil)
	_ directory.WithClients = (*Directory)(nil)
)

// Open returns the directory in the folder at path. If there is nothing, the first
// Announce creates it, with the folders above it: a path that a subscriber has
// mistyped leaves no folder behind. Watch and List report ErrVanished until then.
//
//   - path: of a folder; relative paths count from the present working directory.
//   - config: the zero value is the default.
//   - Errors: those of Config.Validate; *PathError with ErrNotDirectory or
//     ErrUnreadable. A folder that may be read but not written opens: it serves
//     subscribers. One that does not answer opens, too: Watch reports it.
//   - Threads: any. Blocks: for the file system, Patience at most.
func Open(path string, config Config) (*Directory, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	absolute, err := absolute(path)
	if err != nil {
		return nil, &PathError{path, wrap(ErrUnreadable, err), "give an absolute path"}
	}
	d := newDirectory(absolute, config.withDefaults())
	if hangs := d.scan.gate.do(func() { err = d.try() }, nil); hangs == nil && err != nil {
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

// newDirectory returns a directory that has not looked. config has its defaults.
func newDirectory(path string, config Config) *Directory {
	d := &Directory{
		path: path, config: config,
		quit: make(chan struct{}), settled: make(chan struct{}), withdrawn: make(chan struct{}),
		publications: make(map[string]*publication), leaving: make(map[*publication]struct{}),
	}
	d.writing = newGate(d.path, d.config.faults, d.tellWriting)
	d.scan.init(d)
	return d
}

// try looks whether the folder can be opened, unless it is missing.
func (d *Directory) try() error {
	f, err := d.openFolder(d.scan.gate)
	switch {
	case err == nil:
		f.close()
	case !errors.Is(err, ErrVanished):
		return err
	}
	return nil
}

// absolute returns an absolute path. It asks no file system, as filepath.Abs does: the
// working directory may be on one that does not answer.
func absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	here, err := unix.Getwd()
	return filepath.Join(here, path), err
}

func (d *Directory) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// Watch reports the entries that are there and all that follows, as
// directory.Directory says.
//
//   - Errors: directory.ErrClosed. A folder that cannot be read is no error but
//     a Problem, since it may come back, and so is one that does not answer.
//   - Blocks: for the file system, Patience at most if it does not answer.
func (d *Directory) Watch(notify func(directory.Event)) (stop func(), err error) {
	if d.isClosed() {
		return nil, directory.ErrClosed
	}
	d.scan.start(true)
	_ = d.scan.gate.do(d.scan.whole, nil) // that it hangs is a problem of the feed
	return d.feed.Watch(notify)
}

// List looks at the folder and returns the entries in the order of their
// instances. Without Watch it cannot know of a publisher on another host that it
// is dead.
//
//   - Errors: the problems that persist, joined: *PathError with any sentinel of
//     this package that is reported. directory.ErrClosed. The entries of the last look come
//     with ErrHangs.
//   - Blocks: for the file system, Patience at most if it does not answer.
func (d *Directory) List() ([]directory.Entry, error) {
	if d.isClosed() {
		return nil, directory.ErrClosed
	}
	_ = d.scan.gate.do(d.scan.whole, nil) // that it hangs is a problem of the feed
	return d.feed.List()
}

// Close withdraws what is announced, and stops all goroutines and watchers, which
// are not told Gone. It returns when no notify function runs; called from within
// one it returns at once as far as notify functions go. Idempotent.
//
//   - Errors: those of Registration.Withdraw, joined; the same at each call. ErrHangs for
//     entries that could not be withdrawn: their files are removed if the file system answers
//     while the process lives. None of clients.
//   - Blocks: for the file system, Patience at most if it does not answer.
func (d *Directory) Close() error {
	d.mu.Lock()
	first := !d.closed
	if d.closed = true; first {
		d.unannounced = len(d.publications) == 0
	}
	d.mu.Unlock()
	if first {
		close(d.quit)
		d.feed.End() // the files that go now are no events
		go d.settle()
	}
	d.closeClients() // settle runs beside it: neither adds to what the other waits
	err := d.awaitSettled()
	d.feed.Close()
	return err
}

// settle withdraws what is announced and waits for the goroutines, as long as that takes.
func (d *Directory) settle() {
	var errs []error
	d.writing.enter()
	for _, p := range d.announced() {
		p.end()
	}
	for _, p := range d.left() {
		errs = append(errs, p.remove())
	}
	d.writing.leave()
	d.closeErr = errors.Join(errs...)
	close(d.withdrawn)
	d.running.Wait()
	d.scan.gate.enter()
	d.scan.close()
	d.scan.gate.leave()
	close(d.settled)
}

// awaitSettled waits for settle as long as the file system answers.
//
// Errors: those of settle; *PathError with ErrHangs.
func (d *Directory) awaitSettled() error {
	writing, looking := d.writing.hung(), d.scan.gate.hung()
	select {
	case <-d.withdrawn:
	case <-writing:
		if d.unannounced { // what was withdrawn before was told then
			return nil
		}
		return hangs(d.path)
	}
	select {
	case <-d.settled:
	case <-looking: // nothing is lost
	case <-writing: // of a beat
	}
	return d.closeErr
}
