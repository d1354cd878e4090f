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
	disk      sync.Cond        // there may be something for spill or drain
	disks     sync.WaitGroup   // of these, which may wait for the file system for ever
	spooling  bool             // what comes waits behind what is in the spool
	rejoining bool             // the chains, one after another, go on without it: it is empty
	drained   int              // bytes of Held that the spool has
	behind    int              // bytes of Held in back
	laden     []*chain         // that may have something for the spool
	onWay     []moved          // records that are being written to the spool, or are chosen for it; nil: none
	read      []*spool.Segment // that were read, or are, and have records which are not stored

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
		return w.crowded()
	}
	return len(w.laden) > 0 && (w.behind >= w.cfg.MaxBytes/spillPart || w.paused && w.behind > 0)
}

// crowded reports whether so much is held that the spool is needed.
func (w *Writer) crowded() bool { return w.stats.Held >= w.cfg.MaxBytes/spoolFrom }

// wantSpill wakes spill if there is enough for it, after more has come, or is known.
func (w *Writer) wantSpill() {
	if w.spillDue() {
		w.disk.Broadcast()
	}
}

// spill writes to the spool until the end.
func (w *Writer) spill() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for w.rejoining || !w.closing && !w.dead && !w.spillDue() {
			w.disk.Wait()
		}
		if w.dead || w.closing && !w.save {
			return
		}
		if !w.spooling {
			w.beginSpooling()
		}
		last := w.closing
		if taken := w.put(w.collect()); last && (!taken || len(w.laden) == 0) {
			return
		}
	}
}

// beginSpooling has all that waits go to the spool.
func (w *Writer) beginSpooling() {
	w.spooling = true
	w.onWay = []moved{} // the chains do not rejoin meanwhile
	w.all(func(c *chain) {
		if w.spooling {
			w.lane(c)
		}
	})
	w.onWay = nil
}

// setAside has what waits in front, and what comes, wait in back.
func (w *Writer) setAside(c *chain) {
	c.front, c.back, c.aside = lane{}, c.front, true
	w.behind += c.back.bytes()
	if !c.empty() {
		w.lade(c)
	}
}

// lade notes that a chain may have something for the spool.
func (w *Writer) lade(c *chain) {
	if !c.laden && c.aside && !w.rejoining {
		c.laden = true
		w.laden = append(w.laden, c)
		w.wantSpill()
	}
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

// collect takes some of what may go to the spool.
func (w *Writer) collect() (some []moved) {
	for n := 0; n < w.cfg.step && len(some) < w.cfg.step && len(w.laden) > 0; n++ {
		c := w.laden[0]
		if w.laden = w.laden[1:]; len(w.laden) == 0 {
			w.laden = nil
		}
		c.laden = false
		some = w.collectFrom(c, some)
	}
	return some
}

// collectFrom takes of a chain what is known, up to the first record that is not. What is in front and not in the spool is copied: it is the
// oldest.
func (w *Writer) collectFrom(c *chain, some []moved) []moved {
	for _, it := range append([]*item{c.flying}, c.front.queue...) {
		if it != nil && it.seg == nil && !it.saved && !it.unclear {
			it.pinned = true // it may be stored before it is written
			some = append(some, moved{c, it, true})
		}
	}
	if c.joining {
		return some
	}
	b := &c.back
	head := b.queue[:min(len(b.queue), w.cfg.step)]
	if n := slices.IndexFunc(head, func(it *item) bool { return it.unclear }); n >= 0 {
		head = head[:n]
	} else if len(head) < len(b.queue) {
		w.lade(c)
	} else {
		b.seal()
		head = b.queue
	}
	for i, it := range head {
		some = append(some, moved{c, it, false})
		w.behind -= it.size
		head[i] = nil
	}
	if b.queue = b.queue[len(head):]; len(b.queue) == 0 {
		b.queue = nil
	}
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

// put writes records to the spool, and reports whether it has taken them. Otherwise they wait in back again.
func (w *Writer) put(some []moved) bool {
	defer w.disk.Broadcast()
	if len(some) == 0 {
		return true
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
		return err == nil
	}
	w.onWay = nil
	if err != nil {
		w.giveBack(some)
		w.restSpool(err)
		return false
	}
	w.told = false
	for _, m := range some {
		if m.copy {
			m.it.saved = true
			continue
		}
		w.release(m.it)
	}
	return true
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
			if w.dead { // its counters are covered: see rejoin
				w.release(m.it)
				continue
			}
			w.behind += m.it.size
			queue = append(queue, m.it)
		}
		c.back.queue = append(queue, c.back.queue...)
		w.lade(c)
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
