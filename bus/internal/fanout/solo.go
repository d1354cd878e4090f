package fanout

import (
	"tagbus/bus/internal/wire"
	"tagbus/subscription"
	"tagbus/tags"
)

// solo is a stream with one lane, whose policy decides message by message: Latest or
// Sample. Its pages carry positions, from which the subscriber sees what it did not get.
// What no message shows in time, because no more of the tag is sent, a notice tells
// (solo_tell.go). Guarded by stream.mu.
type solo struct {
	stream *stream
	lane   *Lane

	// One of the two. An interface would make the data of all messages that are
	// published escape to the heap.
	latest *latest
	sample *sample

	untold []*soloTag // may have left-out messages that are not reported
	taken  uint64     // messages
	tick   soloTick
}

// soloTag is what is known of a tag under every policy.
type soloTag struct {
	tag    tags.Tag
	untold uint64 // left out since the last message that was written
	later  uint64 // of those, how many are newer than the one that waits
	waits  bool   // a message waits, which will show what was left out before it
	listed bool   // in solo.untold
}

func newSolo(s *stream, n *Lane) *solo {
	o := &solo{stream: s, lane: n}
	if n.Policy.Kind == subscription.Latest {
		o.latest = &latest{solo: o, tags: make(map[tags.Tag]*latestTag)}
	} else {
		o.sample = &sample{solo: o, every: n.Policy.Every, tags: make(map[tags.Tag]*sampleTag)}
	}
	return o
}

// take decides about an accepted message.
func (o *solo) take(tag tags.Tag, status uint8, position uint64, data []byte) {
	o.taken++
	if o.latest != nil {
		o.latest.take(tag, status, position, data)
	} else {
		o.sample.take(tag, status, position, data)
	}
}

// write puts a message into the page under construction, or a new one. A lane without
// room for a new page loses the message.
func (o *solo) write(t *soloTag, status uint8, position uint64, data []byte) {
	s := o.stream
	if s.page != nil && !s.writer.Fits(len(data)) {
		s.sealPage()
	}
	if s.page == nil && !s.fan.openSolo(s.fan.extentOf(len(data)+wire.PositionBytes), s) {
		cause := o.lane.why()
		s.loses(cause, t.tag, position)
		o.lane.loseMessages(cause, t.tag, 1)
		return
	}
	s.fill(t.tag, status, position, data)
	if t.untold > 0 { // the position tells
		o.lane.Account.Add(subscription.CauseLeftOut, t.tag, t.untold-t.later)
		t.untold, t.later = t.later, 0
	}
}

// forget drops what is known of a tag.
func (o *solo) forget(tag tags.Tag) {
	var t *soloTag
	if o.latest != nil {
		t = o.latest.forget(tag)
	} else {
		t = o.sample.forget(tag)
	}
	if t != nil {
		o.tellEnd(t)
	}
}

// drain writes all that waits into pages.
func (o *solo) drain() {
	if o.latest != nil {
		o.latest.drain()
	}
}

// flush sends what waits unless the lane is busy. On a busy lane a newer message may
// still replace it. flush reports whether something remains.
func (o *solo) flush() (open bool) {
	s := o.stream
	if (o.latest == nil || o.latest.order.Len() == 0) && s.page == nil {
		return false
	}
	if o.lane.busy() {
		return true
	}
	s.seal()
	return false
}
