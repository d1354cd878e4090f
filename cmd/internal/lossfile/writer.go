// SPDX-License-Identifier: Apache-2.0

package lossfile

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/tags"
)

const (
	// interval is the time between two looks at what was lost.
	interval = time.Second

	// closeTimeout is how long the file may take at the end.
	closeTimeout = 3 * time.Second
)

// Writer appends losses to a file. What cannot be written waits until it can. A nil Writer
// does nothing. Close it.
//
// Threads: any.
type Writer struct {
	path    string
	open    func(path string) (io.WriteCloser, error)
	self    Record // role, instance, name and host
	problem func(error)
	quit    chan struct{}
	done    chan struct{} // closed when all is written
	started bool

	mu      sync.Mutex // held for some steps only, none of them of the file
	waiting map[kind]*amount
	added   map[state.Cause]uint64 // in all

	totals map[state.Cause]uint64 // set before quit is closed

	// Of the goroutine that writes.
	said bool // that the file cannot be written
	torn bool // the file ends with a part of a line
}

// New returns a Writer that writes nothing before Start; path "" gives nil.
//
//   - role, name, host: of the program.
//   - problem: is called once, if the file cannot be written. It may block.
func New(path string, role state.Role, name, host string, problem func(error)) *Writer {
	if path == "" {
		return nil
	}
	return &Writer{
		path: path, open: open, self: Record{Role: role, Name: name, Host: host}, problem: problem,
		quit: make(chan struct{}), done: make(chan struct{}),
		waiting: make(map[kind]*amount), added: make(map[state.Cause]uint64),
	}
}

// Start begins to write. A file that cannot be opened is told to problem at once, and tried
// again whenever there is something to write.
//
//   - instance: of the program.
//   - look: called before each write, to Add what was lost since the last time. May be nil.
//   - Blocks: never.
func (w *Writer) Start(instance string, look func()) {
	if w == nil {
		return
	}
	w.self.Instance, w.started = instance, true
	go w.run(look)
}

// Add counts messages of a tag that were lost now.
//
//   - Blocks: never; it may be called on a loop.
func (w *Writer) Add(peer Peer, tag tags.Tag, policy string, cause state.Cause, count uint64) {
	w.add(kind{peer: peer, tag: tag, policy: policy, cause: cause}, count, 1)
}

// AddSum is Add for several tags.
//
//   - n: how many at least; 0: not known.
func (w *Writer) AddSum(peer Peer, n int, policy string, cause state.Cause, count uint64) {
	w.add(kind{peer: peer, summed: true, policy: policy, cause: cause}, count, n)
}

func (w *Writer) add(k kind, count uint64, tags int) {
	if w == nil || count == 0 {
		return
	}
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.added[k.cause] += count
	w.put(loss{k, amount{count, tags, now, now}})
}

// balance adds what of the totals was not added before: losses of which no tag and no peer
// is known.
func (w *Writer) balance() {
	for cause, total := range w.totals {
		w.mu.Lock()
		known := w.added[cause]
		w.mu.Unlock()
		if total > known {
			w.AddSum(Peer{}, 0, "", cause, total-known)
		}
	}
}

// Close looks for the last time and writes what is left.
//
//   - totals: all that was lost, by cause. What was not added is written without tag and
//     peer.
//   - Errors: that it was not written, and how much.
//   - Blocks: until all is written, some seconds at most.
func (w *Writer) Close(totals map[state.Cause]uint64) error {
	if w == nil || !w.started {
		return nil
	}
	w.totals = totals
	close(w.quit)
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case <-w.done:
	case <-timer.C:
		return fmt.Errorf("--loss-file %s takes nothing: what was lost is not written", w.path)
	}
	var messages uint64
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.waiting {
		messages += a.count
	}
	if messages > 0 {
		return fmt.Errorf("--loss-file %s: that %d messages were lost is not written", w.path, messages)
	}
	return nil
}

func (w *Writer) run(look func()) {
	defer close(w.done)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	w.write(nil) // a wrong path is to be said before something is lost
	for {
		ends := false
		select {
		case <-tick.C:
		case <-w.quit:
			ends = true
		}
		if look != nil {
			look()
		}
		if ends {
			w.balance()
		}
		if losses := w.take(); len(losses) > 0 {
			w.write(losses)
		}
		if ends {
			return
		}
	}
}

// record returns what is written of a loss.
func (w *Writer) record(l *loss) Record {
	r := w.self
	r.Time, r.Peer, r.Policy, r.Cause = time.Now().UTC(), l.peer, l.policy, l.cause
	r.Count, r.First, r.Last = l.count, l.first.UTC(), l.last.UTC()
	if l.summed {
		r.Tags = l.tags
	} else {
		r.Tag = &l.tag
	}
	return r
}

// write appends losses to the file, and keeps what it does not take.
func (w *Writer) write(losses []loss) {
	written, err := w.try(losses)
	if err != nil && !w.said {
		w.said = true
		w.problem(fmt.Errorf("--loss-file: %w: what is lost is not written until this is mended", cli.FileError(w.path, err)))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range losses[written:] {
		w.put(l)
	}
}

// try returns how many losses it has written. The file is opened each time: it may have been
// renamed, as logrotate does.
func (w *Writer) try(losses []loss) (written int, err error) {
	file, err := w.open(w.path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for i := range losses {
		record := w.record(&losses[i])
		text, err := record.line()
		if err != nil {
			return written, err
		}
		if w.torn {
			text = append([]byte("\n"), text...)
		}
		n, err := file.Write(text)
		w.torn = err != nil && (n > 0 || w.torn)
		if err != nil {
			return written, err
		}
		written++
	}
	return written, nil
}
