// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma

import (
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/alarm"
	"tagbus/netio/rdma/internal/fi"
	"tagbus/netio/reactor"
)

// reader has a completion queue: an endpoint with a connection, or a hub.
type reader interface {
	reactor.Source

	// serve handles what the last crossing has read from the queue, from
	// crossing.next on.
	serve(d *fi.Drain)

	watched() *watch
}

// watch is a completion queue on the loop. Only in a step.
type watch struct {
	cq           *fi.CQ
	drain        fi.Drain
	registration *reactor.Registration // of cq; nil: it has no descriptor
	ready        bool                  // cq is to be read
	futile       int                   // how often it was without success since it was not
	resting      bool                  // cq is left alone for a while
	rest         alarm.Alarm           // for that
	pause        time.Duration         // the last one, of a queue without descriptor
}

const (
	// futileLooks is how often a queue is read without success before it is let rest for
	// a while, restTime: with the provider tcp a descriptor stays readable while
	// bytes wait for a buffer, and some queues have none.
	futileLooks = 64
	restTime    = time.Millisecond

	// firstPause is the first rest of a queue without descriptor. Each further
	// one is twice as long, up to restTime.
	firstPause = restTime / 32
)

func (w *watch) watched() *watch { return w }

// watchQueue begins to watch the queue of r, which lookAgain goes on with.
func (b *backend) watchQueue(r reader) (err error) {
	w := r.watched()
	if w.cq.FD() >= 0 {
		w.registration, err = b.EventLoop.Register(w.cq.FD(), reactor.Readable, r)
	}
	return err
}

// look schedules a read of the completion queue of r.
func (b *backend) look(r reader) {
	if w := r.watched(); !w.ready {
		w.ready = true
		b.crossing.ready = append(b.crossing.ready, r)
	}
}

// lookAgain sees to it that the queue of r is read again in time, after it was
// read with d.
func (b *backend) lookAgain(r reader, d *fi.Drain) {
	w := r.watched()
	switch {
	case d.Count() > 0:
		w.futile, w.pause = 0, 0
		if !d.Armed() {
			b.look(r)
		}
	case w.futile >= futileLooks:
		b.letRest(r)
	default:
		w.futile++
		if !d.Armed() {
			b.look(r)
		}
	}
}

// letRest leaves the queue of r alone for a while.
func (b *backend) letRest(r reader) {
	w := r.watched()
	if w.resting {
		return
	}
	w.resting = true
	if w.registration != nil {
		_ = w.registration.Modify(0) // fails only if the loop has been closed
		w.pause = restTime
	} else {
		w.pause = min(restTime, max(firstPause, 2*w.pause))
	}
	w.rest.F = func() {
		w.resting = false
		if w.registration != nil {
			_ = w.registration.Modify(unix.EPOLLIN)
		}
		b.look(r)
	}
	b.Alarms.Set(&w.rest, w.pause)
}

// unwatch ends what watchQueue has begun.
func (b *backend) unwatch(w *watch) {
	b.Alarms.Cancel(&w.rest)
	if w.registration != nil {
		_ = w.registration.Close() // fails only if the descriptor is not ours
		w.registration = nil
	}
}
