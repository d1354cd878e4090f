// SPDX-License-Identifier: Apache-2.0

package writer

import (
	"context"
	"errors"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/record"
	"tagbus/tags"
)

// resume reads the last record of each chain. It waits for a log that is away.
func (w *Writer) resume(ctx context.Context, set tags.Set) error {
	for told := false; ; told = true {
		away, err := w.readTails(ctx, set)
		if !away {
			return err
		}
		if !told && ctx.Err() == nil {
			w.report(err)
		}
		pause := time.NewTimer(w.cfg.RetryMax)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			if cause := context.Cause(ctx); !errors.Is(err, cause) {
				err = errors.Join(err, cause)
			}
			return err
		}
		w.sources, w.names, w.stats.Chains = make(map[string]*source), 0, 0
	}
}

// readTails reads the last record of each chain. away reports whether the error is one of the log that may go.
func (w *Writer) readTails(ctx context.Context, set tags.Set) (away bool, err error) {
	for e, err := range w.cfg.Log.Tails(ctx, set) {
		if err != nil {
			return !errors.Is(err, durable.ErrRefused) && !errors.Is(err, durable.ErrClosed), err
		}
		tail, err := w.parse(e)
		if err != nil {
			return false, err
		}
		ended := tail.Kind == record.End && tail.How != record.Stopped
		if ended && !w.spooling {
			continue // should the publisher come back all the same, the first append finds this one
		}
		c, err := w.chain(e.Key)
		if err != nil {
			return false, err
		}
		c.at, c.next, c.done, c.tail, c.peer = e.Position, tail.Next(), tail.Next(), tail.How, tail.Peer
		c.resumed, c.ended = !ended, ended
	}
	return false, nil
}
