// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"errors"
	"slices"
	"sync"
	"time"

	"tagbus/bridge/internal/spool"
	"tagbus/bridge/record"
)

// What goes to the spool, and comes back (drain.go), while the log is slow or away. Each chain has two lanes: what is in front
// was there before the spool, or was read from it. What is in back waits behind what the spool has, and goes there when there is much of
// it. So the spool has the older part of a chain and the memory the newest, which publishers still have when a bridge is killed.
//
// Parts of MaxBytes bound what is held, so that there is room for what comes as long as the spool takes it.
const (
	spoolFrom  = 2 // what is held when spooling begins
	spillPart  = 4 // what waits in back before it goes to the spool
	flightPart = 4 // what is on its way to the log
	aheadPart  = 8 // what was read from the spool
)

// closePatience is how long the spool may take at the end.
const closePatience = 5 * time.Second

// spooler is the state of what goes to the spool, and comes back.
type spooler struct {
	disk     sync.Cond        // there may be something for spill or drain
	disks    sync.WaitGroup   // of these, which may wait for the file system for ever
	spooling bool             // what comes waits behind what is in the spool
	drained  int              // bytes of Held that the spool has
	behind   int              // bytes of Held in back
	barren   bool             // none of these may go to the spool now
	onWay    []moved          // records that are being written to the spool; nil: none
	read     []*spool.Segment // that were read, or are, and have records which are not stored

	putting, reading time.Time // since when a call for the spool has not returned; zero: none is made
	watching         bool      // lookAtSpool comes

	spoolRests bool // it has refused something
	told       bool // that it fails is told
	full       bool // that it is full is told
	damage     bool // some of it could not be read
	dead       bool // it is not used any more
	closing    bool
	save       bool      // all that waits goes there at the end
	awayAt     time.Time // when EndAway was called
}

// moved is a record on its way to the spool.
type moved struct {
	c    *chain
	it   *item
	copy bool // it waits in front still
}

// spillDue reports whether there is enough for the spool.
func (w *Writer) spillDue() bool {
	if w.cfg.Spool == nil || w.dead || w.spoolIsBusy() {
		return false
	}
	if !w.spooling {
		return w.stats.Held >= w.cfg.MaxBytes/spoolFrom
	}
	return !w.barren && (w.behind >= w.cfg.MaxBytes/spillPart || w.paused && w.behind > 0)
}

// wantSpill wakes spill if there is enough for it, after more has come, or is known.
func (w *Writer) wantSpill() {
	if w.barren = false; w.spillDue() {
		w.disk.Broadcast()
	}
}

// spill writes to the spool until the end.
func (w *Writer) spill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for !w.closing && !w.dead && !w.spillDue() {
			w.disk.Wait()
		}
		if w.dead || w.closing && !w.save {
			return
		}
		if !w.spooling {
			w.beginSpooling()
		}
		last := w.closing
		before := w.behind
		some := w.collect()
		w.barren = w.behind == before // until more comes, or is known
		if w.put(some); last {
			return
		}
	}
}

// beginSpooling has all that waits go to the spool.
func (w *Writer) beginSpooling() {
	w.spooling = true
	w.all(func(c *chain) {
		c.front, c.back = lane{}, c.front
		w.behind += c.back.bytes()
	})
}

// bytes returns what is held by a lane.
func (l *lane) bytes() (n int) {
	for _, it := range l.queue {
		n += it.size
	}
	if l.open != nil {
		n += l.open.Bytes()
	}
	return n
}

// all calls f for each chain.
func (w *Writer) all(f func(*chain)) {
	for _, s := range w.sources {
		for _, c := range s.chains {
			f(c)
		}
	}
}

// collect takes what may go to the spool: of each chain what is known, up to the first record that is not. What is in front and not in the
// spool is copied: it is the oldest.
func (w *Writer) collect() (some []moved) {
	w.all(func(c *chain) {
		for _, it := range append([]*item{c.flying}, c.front.queue...) {
			if it != nil && it.seg == nil && !it.saved && !it.unclear {
				it.pinned = true // it may be stored before it is written
				some = append(some, moved{c, it, true})
			}
		}
		if c.joining {
			return
		}
		b := &c.back
		n := slices.IndexFunc(b.queue, func(it *item) bool { return it.unclear })
		if n < 0 {
			b.seal()
			n = len(b.queue)
		}
		for _, it := range b.queue[:n] {
			some = append(some, moved{c, it, false})
			w.behind -= it.size
		}
		b.queue = slices.Clone(b.queue[n:])
	})
	return some
}

// record returns an item as it is given to the spool, which reads it without the lock.
func (it *item) record() func() (*record.Record, error) {
	if it.kind == record.Messages {
		data := it.data
		return func() (*record.Record, error) { return record.Parse(data) }
	}
	r := *it.rec
	r.Causes = slices.Clone(r.Causes)
	return func() (*record.Record, error) { return &r, nil }
}

// put writes records to the spool. Those that it does not take wait in back again.
func (w *Writer) put(some []moved) {
	defer w.disk.Broadcast()
	if len(some) == 0 {
		return
	}
	var read []func() (*record.Record, error)
	bytes := int64(0)
	for _, m := range some {
		read = append(read, m.it.record())
		bytes += int64(m.it.size)
	}
	w.onWay = some
	w.watch(&w.putting)
	w.mu.Unlock()
	err := w.write(read, bytes)
	w.mu.Lock()
	w.putting = time.Time{}
	if w.onWay == nil { // it took too long: they are in back again
		w.told = false
		return
	}
	w.onWay = nil
	if err != nil {
		w.giveBack(some)
		w.restSpool(err)
		return
	}
	w.told = false
	for _, m := range some {
		if m.copy {
			m.it.saved = true
			continue
		}
		w.release(m.it)
	}
}

// write writes records to the spool, without the lock.
func (w *Writer) write(read []func() (*record.Record, error), bytes int64) error {
	all := make([]*record.Record, 0, len(read))
	for _, f := range read {
		r, err := f()
		if err != nil {
			panic(err) // it was made by a Batch
		}
		all = append(all, r)
	}
	return w.cfg.Spool.Put(all, bytes)
}

// giveBack lets records wait in back again, in front of what came meanwhile.
func (w *Writer) giveBack(some []moved) {
	for len(some) > 0 {
		c := some[0].c
		n := slices.IndexFunc(some, func(m moved) bool { return m.c != c })
		if n < 0 {
			n = len(some)
		}
		var queue []*item
		for _, m := range some[:n] {
			if m.copy {
				continue
			}
			if w.dead { // its counters are covered: see abandon
				w.release(m.it)
				continue
			}
			w.behind += m.it.size
			queue = append(queue, m.it)
		}
		c.back.queue = append(queue, c.back.queue...)
		some = some[n:]
	}
}

// restSpool gives the spool nothing for a while.
func (w *Writer) restSpool(err error) {
	told, pause := &w.told, 10*w.cfg.RetryMax
	if errors.Is(err, spool.ErrFull) {
		told, pause = &w.full, w.cfg.RetryMax
	}
	if !*told {
		*told = true
		w.report(err)
	}
	w.spoolRests = true
	time.AfterFunc(pause, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.spoolRests = false
		w.disk.Broadcast()
	})
}

// spoolIsBusy reports whether the spool is given nothing now.
func (w *Writer) spoolIsBusy() bool { return w.spoolRests || w.onWay != nil || !w.putting.IsZero() }
