// SPDX-License-Identifier: Apache-2.0

package in

import (
	"context"
	"errors"
	"time"

	"tagbus/bridge/record"
	"tagbus/recording"
	"tagbus/tags"
)

// publish publishes the messages of a record from a counter on.
//
//   - next: behind the last that was published; 0: none was.
func (r *run) publish(rec *record.Record, from uint64) (next uint64, err error) {
	if !r.tags.Contains(rec.Tag) {
		if err := r.serve(tags.Of(rec.Tag)); err != nil {
			return 0, err
		}
	}
	send := func() error {
		first := uint64(0)
		if len(r.page) > 0 {
			first = r.page[0].Counter
		}
		n, err := r.send()
		if n > 0 { // counters of a record have no holes
			next = first + uint64(n)
		}
		return err
	}
	r.page = r.page[:0]
	for m := range rec.Messages() {
		if m.Counter < from {
			continue
		}
		if wait := r.due(&m); wait > 0 {
			if err := send(); err != nil {
				return next, err
			}
			if err := r.pause(wait); err != nil {
				return next, err
			}
		}
		if r.page = append(r.page, m.Message); len(r.page) == maxPage {
			if err := send(); err != nil {
				return next, err
			}
		}
	}
	return next, send()
}

// due returns how long a message is to be waited for.
func (r *run) due(m *recording.Message) time.Duration {
	if r.cfg.Speed == 0 {
		return 0
	}
	if r.first.IsZero() {
		r.first, r.began = m.Time, time.Now()
	}
	at := time.Duration(float64(m.Time.Sub(r.first)) / r.cfg.Speed)
	return at - time.Since(r.began)
}

// pause waits.
func (r *run) pause(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// send publishes the messages that have gathered, and returns how many it has.
func (r *run) send() (n int, err error) {
	n, err = r.publisher.PublishBatchContext(r.ctx, r.page)
	for i := range n {
		r.report.Bytes += uint64(len(r.page[i].Data))
	}
	r.report.Messages += uint64(n)
	r.publisher.Flush()
	r.page = r.page[:0]
	return n, err
}

// serve adds tags to those of the publisher, which it opens if there is none.
func (r *run) serve(set tags.Set) (err error) {
	r.tags = r.tags.Union(set)
	if r.publisher != nil {
		return r.publisher.AddTags(set)
	}
	cfg := r.cfg.Publisher
	cfg.Tags = set
	if r.publisher, err = r.open.NewPublisher(cfg); err != nil {
		return err
	}
	r.keeper.serve(r.publisher)
	if tell := r.cfg.OnPublisher; tell != nil {
		if err := tell(r.publisher); err != nil {
			return err
		}
	}
	if n := r.cfg.Subscribers; n > 0 {
		return r.publisher.WaitSubscribers(r.ctx, n, set)
	}
	return nil
}

// leaveTime is how long subscribers may take for what is published when the end of the context ends a run.
const leaveTime = 5 * time.Second

// leave waits until subscribers have everything, says goodbye, and stores the position.
//
//   - why: what has failed; nil: nothing.
func (r *run) leave(why error) error {
	if r.publisher == nil {
		return r.keeper.close(true)
	}
	err := r.drain(why)
	kept := r.keeper.close(err == nil)
	if r.keeper != nil && r.ctx.Err() != nil {
		err = nil // the next run publishes it again
	}
	err = errors.Join(err, kept, r.publisher.Close())
	st := r.publisher.Stats() // what is lost is counted when the connections are closed
	r.report.Undelivered, r.report.Unconfirmed = st.Losses.Lost(), st.Unconfirmed
	return err
}

// drain waits until subscribers have everything, and from the end of the context on for a while.
func (r *run) drain(why error) error {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.ctx))
	defer cancel(nil)
	giveUp := func() { cancel(ErrNotTaken) }
	defer context.AfterFunc(r.cfg.Hurry, giveUp)()
	defer context.AfterFunc(r.ctx, func() { time.AfterFunc(leaveTime, giveUp) })()
	return r.publisher.DrainFailed(ctx, why)
}
