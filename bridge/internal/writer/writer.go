// SPDX-License-Identifier: Apache-2.0

// Package writer appends what a subscriber gets to a log: for each publisher and tag a chain of records
// without a counter twice, whatever becomes of the appends.
//
// A message goes this way:
//
//  1. Page (intake.go) adds it to the open batch of its chain, or covers what is missing before it by a
//     Lost record.
//  2. send (send.go) takes the oldest record of a chain that has none on its way, and calls
//     Log.Append.
//  3. done (send.go) learns what became of it: the record is stored, or appended again, or looked for in
//     the log (resolve.go).
package writer

import (
	"context"
	"errors"
	"sync"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/follow"
	"tagbus/bridge/internal/spool"
	"tagbus/bridge/record"
	"tagbus/internal/validate"
	"tagbus/tags"
)

// Config says how a Writer works. Log, MaxBytes, MaxChains, RecordBytes and MaxFlights have no default.
type Config struct {
	Log durable.Log

	MaxBytes       int           // of records that wait or are on their way, from which on Pause is called
	MaxChains      int           // publishers and tags that are alive or not stored; with one more the writer ends
	RecordBytes    int           // of a record with several messages
	RecordMessages int           // of a record; 0: no limit
	MaxFlights     int           // records on their way
	RetryMin       time.Duration // until what has failed is tried again; it doubles up to RetryMax
	RetryMax       time.Duration

	// Spool keeps what waits beyond half of MaxBytes; nil: the memory alone does. It is the writer's, which closes it.
	// SpoolPatience is how long its file system may do nothing before the writer goes on without it.
	Spool         *spool.Spool
	SpoolPatience time.Duration

	// Pause is called when MaxBytes are held, and Resume when half of them are. Ask is called when
	// positions would tell something new. Report is called for the first error of an outage. They
	// are called with a lock held: they must not block, and not call the Writer.
	Pause, Resume, Ask func()
	Report             func(error)

	step int // see maxStep, which is its default
}

// Stats are the counts of a Writer.
type Stats struct {
	Messages uint64 // stored
	Bytes    uint64 // of all records that are stored
	Records  uint64 // stored
	Lost     uint64 // counters that stored Lost records cover
	Passed   uint64 // messages that the log had already
	Retries  uint64 // appends that were done again
	Looks    uint64 // appends of which the log was asked what became of them
	Chains   int    // publishers and tags that are known
	Held     int    // bytes that wait or are on their way
	Pauses   uint64 // calls of Pause
	Away     bool   // the last append or look of a publisher and tag has failed

	Spooling   bool   // the spool has what comes before what waits in memory
	Spooled    uint64 // messages in the files of the spool
	SpoolBytes int64  // of these files
}

// Writer appends to a log.
//
// Threads: any, for all methods. Blocks: never, except New and Close.
type Writer struct {
	cfg  Config
	stop context.Context
	halt context.CancelFunc

	mu      sync.Mutex
	work    sync.Cond // there may be something for send
	sources map[string]*source
	names   int      // bytes of their instances
	recent  *source  // of the last message
	waiting []*chain // for positions
	epoch   uint64   // of Mark
	ready   []*chain
	flights int
	aloft   int           // bytes of these
	items   int           // records that are not stored, open batches too
	idle    chan struct{} // not nil: to be closed when there are none
	resting bool          // after a failure
	away    int           // chains of which the last append or look has failed
	backoff time.Duration
	doubts  []*chain // to be looked for in the log
	looking int      // goroutines that do
	paused  bool
	over    bool
	refusal error         // why nothing more is taken; what was taken before is stored
	failure error         // why nothing more is stored
	failed  chan struct{} // closed when one of them is set
	spare   [][]byte
	stats   Stats

	spooler

	running sync.WaitGroup
}

// source is what is known of one publisher.
type source struct {
	chains map[tags.Tag]*chain
	recent *chain
}

// New returns a writer that goes on behind what is in the log. Blocks: for the log, which may be away, as long as ctx lasts.
//
//   - set: tags of which the log is asked.
//   - Errors: durable.ErrRefused and ErrClosed of the log; a *ForeignError; a *follow.TooManyError; the cause of the end of ctx,
//     with what the log has said last. The spool is closed then.
func New(ctx context.Context, cfg Config, set tags.Set) (w *Writer, err error) {
	w = newWriter(cfg)
	if err := w.resume(ctx, set); err != nil {
		if cfg.Spool != nil {
			err = errors.Join(err, cfg.Spool.Close())
		}
		return nil, err
	}
	w.stop, w.halt = context.WithCancel(context.Background())
	w.running.Go(w.send)
	if cfg.Spool != nil {
		w.disks.Go(w.spill)
		w.disks.Go(w.drain)
	}
	return w, nil
}

func newWriter(cfg Config) *Writer {
	validate.Default(&cfg.step, maxStep)
	w := &Writer{cfg: cfg, sources: make(map[string]*source), failed: make(chan struct{})}
	w.work.L, w.disk.L = &w.mu, &w.mu
	w.spooling = cfg.Spool != nil && !cfg.Spool.Empty() // what an earlier bridge has left
	return w
}

// parse reads a record of the log.
func (w *Writer) parse(e durable.Entry) (*record.Record, error) {
	r, err := follow.Parse(e)
	if err != nil {
		return nil, &ForeignError{Log: w.cfg.Log.Name(), Key: e.Key, Position: e.Position, Err: err}
	}
	return r, nil
}

// chain returns the chain of a key, which may be new.
//
// Errors: a *follow.TooManyError.
func (w *Writer) chain(key durable.Key) (*chain, error) {
	s := w.sources[key.Instance]
	if s != nil && s.chains[key.Tag] != nil {
		return s.chains[key.Tag], nil
	}
	if w.stats.Chains >= w.cfg.MaxChains {
		return nil, &follow.TooManyError{Log: w.cfg.Log.Name(), Key: key, What: follow.Keys, Limit: w.cfg.MaxChains}
	}
	if s == nil {
		if w.names+len(key.Instance) > follow.MaxNameBytes {
			return nil, &follow.TooManyError{Log: w.cfg.Log.Name(), Key: key, What: follow.NameBytes, Limit: follow.MaxNameBytes}
		}
		w.names += len(key.Instance)
		s = &source{chains: make(map[tags.Tag]*chain)}
		w.sources[key.Instance] = s
	}
	c := &chain{key: key, aside: w.spooling && !w.rejoining}
	s.chains[key.Tag] = c
	w.stats.Chains++
	return c, nil
}

// forgetEnded removes a chain that has ended, and of which all is stored. It reports whether it has.
func (w *Writer) forgetEnded(c *chain) bool {
	if c.tail == 0 || c.tail == record.Stopped || !c.empty() || c.aside {
		return false
	}
	w.forget(c)
	return true
}

// forget removes a chain.
func (w *Writer) forget(c *chain) {
	s := w.sources[c.key.Instance]
	delete(s.chains, c.key.Tag)
	if s.recent == c {
		s.recent = nil
	}
	if len(s.chains) == 0 {
		delete(w.sources, c.key.Instance)
		w.names -= len(c.key.Instance)
		if w.recent == s {
			w.recent = nil
		}
	}
	w.stats.Chains--
}

// Failed is closed when the writer appends or takes nothing more, and Close says why.
func (w *Writer) Failed() <-chan struct{} { return w.failed }

// Stats returns the counts so far.
func (w *Writer) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	if w.cfg.Spool != nil {
		s.Spooling = w.spooling
		s.SpoolBytes, s.Spooled = w.cfg.Spool.Size()
	}
	return s
}

// fail ends the writer by an error that would come again.
func (w *Writer) fail(err error) {
	if w.failure != nil {
		return
	}
	if w.refusal == nil {
		close(w.failed)
	}
	w.failure = err
	w.work.Signal()
	w.settle()
}

// refuse takes nothing more from the bus: what comes now is for the next bridge, as what comes after a Close.
func (w *Writer) refuse(err error) {
	if w.refusal != nil {
		return
	}
	if w.failure == nil {
		close(w.failed)
	}
	if w.refusal = err; !w.paused {
		w.paused = true // and so it stays
		w.cfg.Pause()
	}
}
