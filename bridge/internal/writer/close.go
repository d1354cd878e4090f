// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"context"
	"time"

	"tagbus/bridge/record"
)

// Close ends the chains as Stopped, waits until all is stored, and ends the writer. The log stays open.
//
//   - Errors: an *UnwrittenError, when ctx ends or the writer has failed before.
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
	case <-w.failed:
		cause = w.Err()
	case <-ctx.Done():
		cause = context.Cause(ctx)
	}
	w.closeSpool(cause != nil)
	w.mu.Lock()
	w.over = true
	w.work.Signal()
	messages := w.unwritten()
	w.mu.Unlock()
	w.halt()
	w.running.Wait()
	if cause != nil {
		e := &UnwrittenError{Log: w.cfg.Log.Name(), Messages: messages, Err: cause}
		if s := w.cfg.Spool; s != nil {
			e.Spool = s.Name()
			_, e.Spooled = s.Size()
		}
		return e
	}
	return nil
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
