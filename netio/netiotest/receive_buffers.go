package netiotest

import "slices"

// receiveBuffers are as many messages as endpoints can hold of which only a part
// has come, or which OnData looks at: those of one endpoint, those that the
// endpoints of a listen endpoint share, or those of a whole backend. They are
// only counted. nil stands for any number. Guarded by the network's mutex.
type receiveBuffers struct {
	free    int
	waiting []*endpoint // for a buffer, with a message to receive, in order
}

// newReceiveBuffers returns n buffers.
func newReceiveBuffers(n int) *receiveBuffers {
	if n == 0 {
		return nil
	}
	return &receiveBuffers{free: n}
}

// take gives e a buffer, unless none is left for it after those who wait longer:
// then e waits, and gets a turn when there may be one.
func (r *receiveBuffers) take(e *endpoint) bool {
	if r == nil || e.holds {
		return true
	}
	i := slices.Index(r.waiting, e)
	ahead := i
	if i < 0 {
		ahead = len(r.waiting)
	}
	switch {
	case ahead >= r.free && i < 0:
		r.waiting = append(r.waiting, e)
		return false
	case ahead >= r.free:
		return false
	case i >= 0:
		r.waiting = slices.Delete(r.waiting, i, i+1)
	}
	r.free--
	e.holds = true
	return true
}

// put gives the buffer of e back, if it has one.
func (r *receiveBuffers) put(e *endpoint) {
	if e.holds {
		e.holds = false
		r.free++
		r.wake()
	}
}

// leave lets e wait no longer, if it does.
func (r *receiveBuffers) leave(e *endpoint) {
	if r == nil {
		return
	}
	if i := slices.Index(r.waiting, e); i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
		r.wake()
	}
}

// wake gives a turn to those for whom there is a buffer.
func (r *receiveBuffers) wake() {
	for _, e := range r.waiting[:min(r.free, len(r.waiting))] {
		e.b.schedule(e)
	}
}
