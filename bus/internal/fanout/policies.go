// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"tagbus/bus/internal/ring"
	"tagbus/bus/internal/wire"
	"tagbus/subscription"
	"tagbus/tags"
)

// latest decides for the policy Latest: of each tag one message waits, until the
// lane has room, and a newer one takes its place. Guarded as its solo is.
type latest struct {
	solo  *solo
	tags  map[tags.Tag]*latestTag
	order ring.Ring[tags.Tag] // of the tags of which a message waits, the longest first
	bytes int                 // of what waits
	spare []*kept             // for those to come
}

// latestTag is what is known of a tag.
type latestTag struct {
	soloTag
	kept *kept // the message that waits, or nil
}

// kept is a message that waits, copied, and may be replaced by a newer one.
type kept struct {
	status   wire.Status
	position uint64
	data     []byte
}

// take keeps a message in the place of the one of its tag that waits.
func (o *latest) take(tag tags.Tag, status wire.Status, position uint64, data []byte) {
	t := o.tags[tag]
	if t == nil {
		t = &latestTag{soloTag: soloTag{tag: tag}}
		o.tags[tag] = t
	}
	k := t.kept
	if k == nil {
		if !o.fits(o.bytes, data) {
			o.solo.stream.loses(subscription.CauseFull, t.tag, position)
			o.solo.lane.loseMessages(subscription.CauseFull, t.tag, 1)
			return
		}
		k = o.blank()
		t.kept, t.waits = k, true
		o.bytes += keptCost
		o.order.Push(t.tag)
		if o.order.Len() == 1 {
			defer o.solo.stream.begun()
		}
	} else {
		o.solo.leaveOut(&t.soloTag)
		if !o.fits(o.bytes-len(k.data)-keptCost, data) {
			t.later++
			return // the older one is better than none
		}
		t.later = 0
	}
	o.bytes += len(data) - len(k.data)
	k.status, k.position, k.data = status, position, append(k.data[:0], data...)
}

// blank returns a kept without content, whose memory may have been used before.
func (o *latest) blank() *kept {
	last := len(o.spare) - 1
	if last < 0 {
		return &kept{}
	}
	k := o.spare[last]
	o.spare = o.spare[:last]
	k.data = k.data[:0]
	return k
}

// keptCost is what a message that waits counts beyond its payload.
const keptCost = 128

// fits reports whether a message may wait beside others that count so many bytes: together
// no more than the lane may hold, or one message of any size.
func (o *latest) fits(others int, data []byte) bool {
	return others == 0 || others+len(data)+keptCost <= int(o.solo.lane.limit)
}

// forget drops a tag, with the message that waits. It returns nil for an unknown one.
func (o *latest) forget(tag tags.Tag) *soloTag {
	t := o.tags[tag]
	if t == nil {
		return nil
	}
	if t.kept != nil {
		o.bytes -= len(t.kept.data) + keptCost
		t.kept = nil // order still has it, and drain passes over it
	}
	delete(o.tags, tag)
	return &t.soloTag
}

// drain writes all messages that wait.
func (o *latest) drain() {
	for o.order.Len() > 0 {
		if t := o.tags[o.order.Pop()]; t != nil && t.kept != nil {
			k := t.kept
			t.kept, t.waits = nil, false
			o.solo.write(&t.soloTag, k.status, k.position, k.data)
			o.spare = append(o.spare, k)
		}
	}
	o.bytes = 0
}

// sample decides for the policy Sample: the lane gets the first message of each tag, and
// then one of so many. Guarded as its solo is.
type sample struct {
	solo  *solo
	every uint64
	tags  map[tags.Tag]*sampleTag
}

// sampleTag is what is known of a tag.
type sampleTag struct {
	soloTag
	seen uint64 // messages
}

// take decides about a message.
func (o *sample) take(tag tags.Tag, status wire.Status, position uint64, data []byte) {
	t := o.tags[tag]
	if t == nil {
		t = &sampleTag{soloTag: soloTag{tag: tag}}
		o.tags[tag] = t
	}
	if t.seen++; (t.seen-1)%o.every == 0 {
		o.solo.write(&t.soloTag, status, position, data)
	} else {
		o.solo.leaveOut(&t.soloTag)
	}
}

// forget drops a tag. It returns nil for an unknown one.
func (o *sample) forget(tag tags.Tag) *soloTag {
	t := o.tags[tag]
	if t == nil {
		return nil
	}
	delete(o.tags, tag)
	return &t.soloTag
}
