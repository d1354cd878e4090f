// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"context"
	"errors"
	"time"

	"tagbus/bridge/record"
)

// Close ends the chains as Stopped, waits until all is stored, and ends the writer. The log stays open.
//
//   - Errors: an *UnwrittenError, when ctx ends or the log has refused something; a *follow.TooManyError, in it if it is about the spool.
func (w *Writer) Close(ctx context.Context) error {
	w.mu.Lock()
	w.learnAll()
	now := time.Now()
	for _, s := range w.sources {
		for _, c := range s.chains {
			if !c.resumed && !c.ended {
				w.mark(c, record.End, record.Stopped, now, "")
			}
		}
	}
	idle := make(chan struct{})
	w.idle = idle
	w.settle()
	w.mu.Unlock()
	var cause error
	select {
	case <-idle:
		w.mu.Lock()
		cause = w.failure
		w.mu.Unlock()
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	w.closeSpool(cause != nil)
	w.mu.Lock()
	w.over = true
	w.work.Signal()
	messages, refusal := w.unwritten(), w.refusal
	w.mu.Unlock()
	w.halt()
	w.running.Wait()
	if cause == nil {
		return refusal
	}
	e := &UnwrittenError{Log: w.cfg.Log.Name(), Messages: messages, Err: cause}
	if s := w.cfg.Spool; s != nil {
		e.Spool = s.Name()
		_, e.Spooled = s.Size()
	}
	return errors.Join(refusal, e)
}

// unwritten returns how many messages are neither stored nor in the spool.
func (w *Writer) unwritten() (n uint64) {
	for _, s := range w.sources {
		for _, c := range s.chains {
			n += c.messages()
		}
	}
	for _, m := range w.onWay {
		if !m.copy && m.it.kind == record.Messages {
			n += m.it.next - m.it.first
		}
	}
	return n
}

// settle tells Close when all is stored, or nothing more will be.
func (w *Writer) settle() {
	if w.idle != nil && (w.items == 0 && !w.spooling || w.failure != nil) {
		close(w.idle)
		w.idle = nil
	}
}
