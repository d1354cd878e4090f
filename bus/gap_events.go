package bus

import (
	"tagbus/bus/internal/ledger"
	"tagbus/subscription"
	"tagbus/tags"
)

// untold counts the losses of a tag without a Gap event so far. There is at most one
// for each tag of a publisher and lane, so however much is lost, the waiting gaps are
// bounded. Loop only.
type untold struct {
	src    *source
	rcv    *received // that refers to it
	tag    tags.Tag
	counts ledger.Counts
	queued bool // in the event queue
	listed bool // in Subscriber.later or a gapReport
}

// promptly reports whether a Gap of this cause is reported at once. The others come
// once a second.
func promptly(cause subscription.Cause) bool {
	return cause != subscription.CauseLeftOut && cause != ledger.Queue
}

// gap schedules a Gap event for n messages that do not come.
func (src *source) gap(rcv *received, tag tags.Tag, cause subscription.Cause, n uint64) {
	u := rcv.untold
	if u == nil {
		u = &untold{src: src, rcv: rcv, tag: tag}
		rcv.untold = u
	}
	u.counts[cause] += n
	s := src.sub
	switch {
	case promptly(cause):
		if !u.queued {
			u.queued = true
			s.events.addGaps(u)
		}
	case !u.listed:
		u.listed = true
		s.later = append(s.later, u)
		s.reportLater()
	}
}

// take returns the next event, prompt or not, and whether there is another one of
// that kind.
func (u *untold) take(prompt bool) (e Event, more bool) {
	for i := range u.counts {
		cause := subscription.Cause(i)
		switch {
		case u.counts[i] == 0 || promptly(cause) != prompt:
		case e.Kind == 0:
			e = Event{Kind: Gap, Peer: u.src.contact.peer, Tag: u.tag, Count: u.counts[i], Err: gapCauses[i]}
			u.counts[i] = 0
		default:
			return e, true
		}
	}
	if prompt {
		u.queued = false
	} else {
		u.listed = false
	}
	if !u.queued && !u.listed {
		u.rcv.untold = nil
	}
	return e, false
}

// next implements eventSeries.
func (u *untold) next() (e Event, more bool) { return u.take(true) }

// gapReport has the gaps that are reported once a second.
type gapReport struct{ list []*untold }

func (r *gapReport) next() (Event, bool) {
	e, more := r.list[0].take(false)
	if !more {
		r.list[0] = nil
		r.list = r.list[1:]
	}
	return e, len(r.list) > 0
}
