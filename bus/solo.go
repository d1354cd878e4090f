package bus

import (
	"tagbus/bus/internal/ring"
	"tagbus/bus/internal/wire"
	"tagbus/subscription"
	"tagbus/tags"
)

// solo decides for a stream, message by message, what its only lane gets, with the
// policies Latest and Sample. Its pages carry positions, from which the subscriber sees
// which messages it did not get. If no further message of the tag shows that in time, a
// notice does (solo_tell.go). Guarded by stream.mu.
type solo struct {
	stream *stream
	lane   *lane
	tags   map[tags.Tag]*soloTag
	order  ring.Ring[tags.Tag] // Latest: of what is kept, the longest waiting first
	bytes  int                 // Latest: of what is kept
	spare  []*kept             // Latest: for those to come

	untold []*soloTag // may have left-out messages that are not reported
	taken  uint64     // messages
	tick   soloTick
}

// soloTag is what is known of a tag.
type soloTag struct {
	tag    tags.Tag
	seen   uint64 // Sample: messages
	kept   *kept  // Latest: the message that waits, or nil
	untold uint64 // left out since the last message that was written
	later  uint64 // of those, how many are newer than the one that waits
	listed bool   // in solo.untold
}

// kept is a message that waits, copied, and may be replaced by a newer one.
type kept struct {
	status   Status
	position uint64
	data     []byte
}

func newSolo(s *stream, n *lane) *solo {
	return &solo{stream: s, lane: n, tags: make(map[tags.Tag]*soloTag)}
}

// take decides about an accepted message.
func (o *solo) take(tag tags.Tag, status Status, position uint64, data []byte) {
	t := o.tags[tag]
	if t == nil {
		t = &soloTag{tag: tag}
		o.tags[tag] = t
	}
	o.taken++
	if o.lane.policy.Kind == Latest {
		o.keep(t, status, position, data)
		return
	}
	if t.seen++; (t.seen-1)%o.lane.policy.Every == 0 {
		o.write(t, status, position, data)
	} else {
		o.leaveOut(t)
	}
}

// write puts a message into the page under construction, or a new one. A lane without
// room for a new page loses the message.
func (o *solo) write(t *soloTag, status Status, position uint64, data []byte) {
	s := o.stream
	if s.page != nil && !s.writer.Fits(len(data)) {
		s.sealPage()
	}
	if s.page == nil && !s.pub.openSolo(s.pub.extentOf(len(data)+wire.PositionBytes), s) {
		cause := o.lane.why()
		s.loses(cause, t.tag, position)
		o.lane.loseMessages(cause, t.tag, 1)
		return
	}
	s.fill(t.tag, status, position, data)
	if t.untold > 0 { // the position tells
		o.lane.account.Add(subscription.CauseLeftOut, t.tag, t.untold-t.later)
		t.untold, t.later = t.later, 0
	}
}

// keep remembers a message in the place of the one of its tag that waits.
func (o *solo) keep(t *soloTag, status Status, position uint64, data []byte) {
	k := t.kept
	if k == nil {
		if o.bytes+len(data)+keptCost > o.limit() {
			o.stream.loses(subscription.CauseFull, t.tag, position)
			o.lane.loseMessages(subscription.CauseFull, t.tag, 1)
			return
		}
		k = o.blank()
		t.kept = k
		o.bytes += keptCost
		o.order.Push(t.tag)
		if o.order.Len() == 1 {
			o.stream.pub.armFlush()
		}
	} else {
		o.leaveOut(t)
		if o.bytes-len(k.data)+len(data) > o.limit() {
			t.later++
			return // the older one is better than none
		}
		t.later = 0
	}
	o.bytes += len(data) - len(k.data)
	k.status, k.position, k.data = status, position, append(k.data[:0], data...)
}

// blank returns a kept without content, whose memory may have been used before.
func (o *solo) blank() *kept {
	last := len(o.spare) - 1
	if last < 0 {
		return &kept{}
	}
	k := o.spare[last]
	o.spare = o.spare[:last]
	k.data = k.data[:0]
	return k
}

// keptCost is added to the payload of a waiting message.
const keptCost = 128

func (o *solo) limit() int { return int(o.lane.limit) * o.stream.pub.pageBytes }

// forget drops what is known of a tag.
func (o *solo) forget(tag tags.Tag) {
	t := o.tags[tag]
	if t == nil {
		return
	}
	o.tellEnd(t)
	if t.kept != nil {
		o.bytes -= len(t.kept.data) + keptCost
		t.kept = nil // order still has it, and drain passes over it
	}
	delete(o.tags, tag)
}

// drain writes all that waits into pages.
func (o *solo) drain() {
	for o.order.Len() > 0 {
		if t := o.tags[o.order.Pop()]; t != nil && t.kept != nil {
			k := t.kept
			t.kept = nil
			o.write(t, k.status, k.position, k.data)
			o.spare = append(o.spare, k)
		}
	}
	o.bytes = 0
}

// flush sends what waits unless the lane is busy. On a busy lane a newer message may
// still replace it. flush reports whether something remains.
func (o *solo) flush() (open bool) {
	s := o.stream
	if o.order.Len() == 0 && s.page == nil {
		return false
	}
	if o.lane.busy() {
		return true
	}
	s.seal()
	return false
}
