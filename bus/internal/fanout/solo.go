// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"time"

	"tagbus/bus/internal/ring"
	"tagbus/bus/internal/wire"
	"tagbus/subscription"
	"tagbus/tags"
)

// solo is a stream with one lane, whose policy decides message by message: Latest or
// Sample. Its pages carry positions, from which the subscriber sees what it did not get.
// What no message shows in time, because no more of the tag is sent, a notice tells.
//
// Guarded by stream.mu, which is held in all methods.
type solo struct {
	stream *stream
	lane   *Lane

	// One of the two. An interface would make the data of all messages that are
	// published escape to the heap.
	latest *latest
	sample *sample

	untold []*soloTag // may have left-out messages that are not reported
	taken  uint64     // messages, left out or not
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

// newSolo returns what decides for the only lane of a stream.
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
func (o *solo) take(tag tags.Tag, status wire.Status, position uint64, data []byte) {
	o.taken++
	if o.latest != nil {
		o.latest.take(tag, status, position, data)
	} else {
		o.sample.take(tag, status, position, data)
	}
}

// write puts a message into the page under construction, or a new one. A lane without
// room for a new page loses the message.
func (o *solo) write(t *soloTag, status wire.Status, position uint64, data []byte) {
	s := o.stream
	if s.page != nil && !s.fits(len(data)) {
		s.sealPage()
	}
	if s.page == nil {
		if cause := s.fan.openSolo(askFor(len(data)+wire.PositionBytes), s); cause != 0 {
			s.loses(cause, t.tag, position)
			o.lane.loseMessages(cause, t.tag, 1)
			return
		}
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

// rest is what is left of a solo whose lane is gone.
type rest struct {
	untold []*soloTag
	order  ring.Ring[tags.Tag]
	latest map[tags.Tag]*latestTag
}

// detach takes away what the solo has. It writes and reports nothing of it any more.
func (o *solo) detach() *rest {
	x := &rest{untold: o.untold}
	o.untold = nil
	if o.latest != nil {
		x.order, x.latest = o.latest.order, o.latest.tags
		o.latest.order, o.latest.tags, o.latest.bytes = ring.Ring[tags.Tag]{}, make(map[tags.Tag]*latestTag), 0
	}
	return x
}

// settle accounts for a part of what is left: the subscriber finds a gap in the place of
// what was left out, and what waits is lost with the connection. Loop only.
func (x *rest) settle(n *Lane, budget int) (steps int, done bool) {
	for last := len(x.untold) - 1; last >= 0 && steps < budget; last-- {
		if t := x.untold[last]; t.untold > 0 {
			n.Account.Add(subscription.CauseLeftOut, t.tag, t.untold)
		}
		x.untold = x.untold[:last]
		steps += settleSteps
	}
	dropped := uint64(0)
	for x.order.Len() > 0 && steps < budget {
		if t := x.latest[x.order.Pop()]; t != nil && t.waits {
			t.waits = false
			dropped++
		}
		steps++
	}
	n.out.mu.Lock()
	n.dropped += dropped
	n.out.mu.Unlock()
	return steps, len(x.untold) == 0 && x.order.Len() == 0
}

const settleSteps = 4 // cost of an entry of the account

// drain writes all that waits into pages.
func (o *solo) drain() {
	if o.latest != nil {
		o.latest.drain()
	}
}

// The tag's next message carries its position, and so shows the subscriber how many
// messages a policy has left out. If none comes, a notice does: as soon as the stream
// is quiet, and otherwise once a second, so that it costs next to nothing.
const (
	tellInterval  = 20 * time.Millisecond
	tellAfterTurn = int(time.Second / tellInterval)
	maxTold       = 4096 // tags at once, so that the loop and publishing goroutines do not wait for long
)

// soloTick is what the last tellDue has seen.
type soloTick struct {
	taken uint64
	turns int // since something was told
}

// leaveOut counts a message that the lane does not get on purpose.
func (o *solo) leaveOut(t *soloTag) {
	t.untold++
	if t.listed {
		return
	}
	t.listed = true
	o.untold = append(o.untold, t)
	if len(o.untold) == 1 {
		o.stream.fan.armTell()
	}
}

// armTell ensures that tellDue runs soon.
func (fan *Fanout) armTell() {
	if !fan.tellArmed.Swap(true) {
		fan.loop.Post(fan.tellFunc)
	}
}

// tellLater sets the alarm for tellDue. Loop only.
func (fan *Fanout) tellLater() { fan.alarms.Set(&fan.telling, tellInterval) }

// tellDue reports left-out messages to the subscribers. Loop only.
func (fan *Fanout) tellDue() {
	fan.tellArmed.Store(false)
	again := false
	for _, s := range *fan.streams.Load() {
		if s.solo != nil {
			s.mu.Lock()
			again = s.solo.turn() || again
			s.mu.Unlock()
		}
	}
	if again {
		fan.armTell()
	}
}

// turn reports left-out messages if it is time. It returns whether some remain.
func (o *solo) turn() (again bool) {
	if len(o.untold) == 0 {
		return false
	}
	if o.tick.turns++; o.taken == o.tick.taken || o.tick.turns >= tellAfterTurn {
		more := len(o.untold) > maxTold
		if o.tell(maxTold); more {
			o.tick.turns = tellAfterTurn // the others in the next turn
		}
	}
	o.tick.taken = o.taken
	return len(o.untold) > 0
}

// tell reports the left-out messages of up to most tags, those that have waited
// longest. It skips tags with a waiting message, whose position will show the gap.
func (o *solo) tell(most int) {
	o.tick.turns = 0
	o.stream.sealPage() // the left-out messages come after those of the page
	most = min(most, len(o.untold))
	left := o.untold[most:]
	for _, t := range o.untold[:most] {
		switch {
		case t.untold == 0:
			t.listed = false
		case t.waits:
			left = append(left, t)
		default:
			o.lane.loseMessages(subscription.CauseLeftOut, t.tag, t.untold)
			t.untold, t.listed = 0, false
		}
	}
	o.untold = append(o.untold[:0], left...)
	clear(o.untold[len(o.untold):cap(o.untold)])
}

// tellEnd reports the left-out messages of a tag that the lane does not want any more.
// Its waiting message is not sent, and counts as left out. The page under construction
// is sealed.
func (o *solo) tellEnd(t *soloTag) {
	if out := o.lane.out; out.gone() {
		// The subscriber finds a gap. What waits is lost with the connection.
		o.lane.Account.Add(subscription.CauseLeftOut, t.tag, t.untold)
		if t.waits {
			out.mu.Lock()
			o.lane.dropped++
			out.mu.Unlock()
		}
	} else {
		if t.waits {
			t.untold++
		}
		if t.untold > 0 {
			o.lane.loseMessages(subscription.CauseLeftOut, t.tag, t.untold)
		}
	}
	t.untold = 0
}
