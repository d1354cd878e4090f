// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"container/list"

	"tagbus/internal/alarm"
)

// commit commits a part of the region, for which it takes the rest of the turn. It reports
// whether all of it is: then peers may have its file. Errors: netio.ErrNoMemory, and the
// system's.
func (f *lentFile) commit(b *backend) (done bool, err error) {
	if f.region == nil || f.committed {
		return true, nil
	}
	b.spend(turnBytes)
	f.committed, err = b.config.commit(f.region, b.config.commitBytes)
	return f.committed, err
}

// commitment is what a listen endpoint owes to those that have introduced themselves: its
// region is committed for the first of them, in steps, and they wait for that.
type commitment struct {
	listener *listenEndpoint

	// Only in a step.
	waiting list.List   // of *endpoint
	queued  bool        // for the next step
	pause   alarm.Alarm // set for some time after one has failed
	failure error       // for which it is set
	told    bool        // of a failure
}

// init prepares c. There is nothing to do when the pause ends: the next one that comes
// finds that.
func (c *commitment) init(l *listenEndpoint) {
	c.listener = l
	c.pause.F = func() {}
}

// admit answers an endpoint whose peer has introduced itself, when the region is committed.
func (c *commitment) admit(e *endpoint) {
	switch f := &c.listener.lent; {
	case f.region == nil || f.committed:
		e.answer()
	case c.pause.IsSet():
		e.dismiss(c.failure)
	default:
		e.waiting = c.waiting.PushBack(e)
		c.enqueue()
	}
}

func (c *commitment) enqueue() {
	if !c.queued {
		c.queued = true
		c.listener.backend.Enqueue(c)
	}
}

// Work implements handover.Worker. It is the next step.
func (c *commitment) Work() {
	c.queued = false
	if c.listener.IsClosed() || c.waiting.Len() == 0 {
		return // all are to be closed, or were
	}
	done, err := c.listener.lent.commit(c.listener.backend)
	switch {
	case err != nil:
		c.fail(err)
	case !done:
		c.enqueue()
		return
	}
	for at := c.waiting.Front(); at != nil; at = c.waiting.Front() {
		e := c.waiting.Remove(at).(*endpoint)
		e.waiting = nil
		if done {
			e.answer()
		} else {
			e.dismiss(err)
		}
	}
}

// fail refuses connections for a while. The user is told once: what is in the way stays so,
// most times.
func (c *commitment) fail(err error) {
	b := c.listener.backend
	c.failure = err
	b.Alarms.Set(&c.pause, b.config.commitPause)
	if c.told {
		return
	}
	c.told = true
	b.config.Logger.Warn("shm: there is not enough memory to let others read what is sent: their connections are refused, until there is",
		"addr", c.listener.Address, "bytes", len(c.listener.lent.region), "every", b.config.commitPause, "err", err,
		"hint", "make the region smaller (PoolBytes of a publisher), or use another transport")
}
