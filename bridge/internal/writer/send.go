// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"errors"
	"fmt"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/record"
)

// send appends records until the end.
func (w *Writer) send() {
	for {
		a, ok := w.nextAppend()
		if !ok {
			return
		}
		w.cfg.Log.Append(a)
	}
}

// nextAppend waits for a record that may be appended. ok is false at the end.
func (w *Writer) nextAppend() (a durable.Append, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var c *chain
	for c == nil {
		for !w.over && w.failure == nil && (w.resting || len(w.ready) == 0 || w.flights == w.cfg.MaxFlights || w.cfg.Spool != nil && w.aloft >= w.cfg.MaxBytes/flightPart) {
			w.work.Wait()
		}
		if w.over || w.failure != nil {
			return a, false
		}
		c = w.ready[0]
		if w.ready = w.ready[1:]; len(w.ready) == 0 {
			w.ready = nil
		}
		if c.listed = false; !c.launch() {
			c = nil // what waited there has gone to the spool, or has come back from it behind what is not known
		}
	}
	it := c.flying
	w.flights++
	w.aloft += it.size
	return durable.Append{
		Key: c.key, After: c.at, ID: id(c.key, c.at, it), Data: it.bytes(),
		Done: func(at durable.Position, err error) { w.done(c, at, err) },
	}, true
}

// launch makes the oldest record the one on its way, unless one is. It reports whether there is one.
func (c *chain) launch() bool {
	if c.flying != nil {
		return true
	}
	if !c.sendable() {
		return false
	}
	f := &c.front
	if len(f.queue) == 0 {
		f.seal()
	}
	c.flying, f.queue = f.queue[0], f.queue[1:]
	return true
}

// id returns what names a record: no other record of the log has it. A chain may have several ends at the same counter: one as stopped,
// and behind it, or by another bridge in its place, one of a publisher that says goodbye.
func id(key durable.Key, after durable.Position, it *item) string {
	return fmt.Sprintf("%016x.%s.%d.%d.%d.%c%d", uint64(key.Tag), key.Instance, after, it.first, it.next-it.first, it.kind.String()[0], it.how())
}

// done takes the outcome of an append.
func (w *Writer) done(c *chain, at durable.Position, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flights--
	w.aloft -= c.flying.size
	w.work.Signal()
	switch {
	case err == nil:
		w.fine(c)
		w.stored(c, at)
	case errors.Is(err, durable.ErrConflict):
		w.doubt(c)
	case errors.Is(err, durable.ErrRefused):
		w.fail(err)
	default:
		w.stats.Retries++
		w.rest(c, err)
		c.listed = true
		w.ready = append(w.ready, c)
	}
}

// stored goes on behind the record on its way, which is in the log at a position.
func (w *Writer) stored(c *chain, at durable.Position) {
	it := c.flying
	c.at, c.flying = at, nil
	c.done, c.tail = it.next, it.how()
	w.stats.Records++
	w.stats.Bytes += uint64(len(it.bytes()))
	switch it.kind {
	case record.Messages:
		w.stats.Messages += it.next - it.first
	case record.Lost:
		w.stats.Lost += it.next - it.first
	default:
	}
	w.release(it)
	if !w.forgetEnded(c) {
		w.touch(c)
	}
}

// fine ends an outage, if it was that of the last chain.
func (w *Writer) fine(c *chain) {
	w.backoff = 0
	if c.away {
		c.away = false
		w.away--
		w.stats.Away = w.away > 0
	}
}

// rest waits before the log is asked for more.
func (w *Writer) rest(c *chain, err error) {
	if !c.away {
		c.away = true
		w.away++
	}
	if !w.stats.Away {
		w.stats.Away = true
		w.report(err)
	}
	if w.resting {
		return
	}
	w.resting = true
	w.backoff = min(max(2*w.backoff, w.cfg.RetryMin), w.cfg.RetryMax)
	time.AfterFunc(w.backoff, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.resting = false
		w.work.Signal()
	})
}

func (w *Writer) report(err error) { w.cfg.Report(err) }
