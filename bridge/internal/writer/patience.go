// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tagbus/bridge/internal/spool"
	"tagbus/internal/sanitize"
)

// SpoolSilentError means that the file system of a spool has done nothing for long, and that the writer goes on without it.
type SpoolSilentError struct {
	Spool    string
	Patience time.Duration
	Lost     bool // what is in the spool is recorded as lost; its files stay
}

// OpenSpool opens a folder as the spool of a log; none if it has no name.
//
//   - Errors: those of package spool; a *SpoolSilentError after a patience; the cause of the end of ctx.
func OpenSpool(ctx context.Context, folder, log string, limit int64, patience time.Duration) (*spool.Spool, error) {
	if folder == "" {
		return nil, nil
	}
	type result struct {
		spool *spool.Spool
		err   error
	}
	done := make(chan result, 1)
	go func() {
		s, err := openFolder(folder, log, limit)
		done <- result{s, err}
	}()
	late := time.NewTimer(patience)
	defer late.Stop()
	var err error
	select {
	case r := <-done:
		return r.spool, r.err
	case <-late.C:
		err = &SpoolSilentError{Spool: folder, Patience: patience}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	go func() { // it may come after all
		if r := <-done; r.err == nil {
			_ = r.spool.Close()
		}
	}()
	return nil, err
}

func openFolder(folder, log string, limit int64) (*spool.Spool, error) {
	f, err := spool.OpenFolder(folder)
	if err != nil {
		return nil, err
	}
	s, err := spool.Open(f, log, limit)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

// Error names the spool, and what becomes of what is in it.
func (e *SpoolSilentError) Error() string {
	what := "nothing more goes there until it does"
	if e.Lost {
		what = "what is in it is recorded as lost, and its files stay: tagbus rec reads them"
	}
	return sanitize.Linef("bridge: spool %s: its file system has done nothing for %v: the bridge goes on without it; %s", e.Spool, e.Patience, what)
}

// watch notes that a call for the spool begins, at a time which is zero otherwise.
func (w *Writer) watch(since *time.Time) {
	*since = time.Now()
	if !w.watching {
		w.watching = true
		time.AfterFunc(w.cfg.SpoolPatience, w.lookAtSpool)
	}
}

// lookAtSpool goes on without a spool that does not answer.
func (w *Writer) lookAtSpool() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watching = false
	next := w.cfg.SpoolPatience
	for _, since := range []time.Time{w.putting, w.reading} {
		if left := w.cfg.SpoolPatience - time.Since(since); !since.IsZero() && !w.dead {
			w.watching = true
			next = min(next, max(left, w.cfg.SpoolPatience/4))
		}
	}
	if !w.watching {
		return
	}
	time.AfterFunc(next, w.lookAtSpool)
	silent := &SpoolSilentError{Spool: w.cfg.Spool.Name(), Patience: w.cfg.SpoolPatience}
	if some := w.onWay; some != nil && !w.putting.IsZero() && time.Since(w.putting) >= w.cfg.SpoolPatience {
		for _, m := range some {
			m.it.pinned = true
		}
		w.onWay = nil
		w.giveBack(some)
		w.told = true
		w.report(silent)
		w.disk.Broadcast()
	}
	if !w.reading.IsZero() && time.Since(w.reading) >= w.cfg.SpoolPatience {
		silent.Lost = true
		w.report(silent)
		w.dead, w.damage = true, true
		if w.spooling {
			w.rejoin()
		}
		w.disk.Broadcast()
	}
}

// closeSpool ends the spool.
//
//   - save: all that waits in memory goes there first.
func (w *Writer) closeSpool(save bool) {
	if w.cfg.Spool == nil {
		return
	}
	w.mu.Lock()
	w.closing, w.save = true, save && !w.dead
	w.disk.Broadcast()
	w.mu.Unlock()
	done := make(chan error, 1)
	go func() {
		w.disks.Wait()
		done <- w.cfg.Spool.Close()
	}()
	late := time.NewTimer(min(closePatience, w.cfg.SpoolPatience))
	defer late.Stop()
	select {
	case err := <-done:
		if err != nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.report(err)
		}
	case <-late.C: // the process ends without it
	}
}

// spooled returns what waits in the spool, for people.
func (e *UnwrittenError) spooled() string {
	if e.Spooled == 0 {
		return ""
	}
	return fmt.Sprintf("; the spool %s has up to %d, which the next start appends", e.Spool, e.Spooled)
}
