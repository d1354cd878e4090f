package bus

import (
	"time"

	"tagbus/subscription"
)

// What a policy has left out shows to the subscriber with the tag's next
// message, which carries its position. When none comes, a notice tells: as soon
// as the stream is quiet, and otherwise once a second, so that it costs next to
// nothing.
const (
	tellInterval  = 20 * time.Millisecond
	tellAfterTurn = int(time.Second / tellInterval)
	maxTold       = 4096 // tags at once, so that the loop and those who publish do not wait for long
)

// soloTick is what the last tellDue has seen.
type soloTick struct {
	taken uint64
	turns int // since something was told
}

// leaveOut notes that the lane does not get a message of a tag on purpose.
func (o *solo) leaveOut(t *soloTag) {
	t.untold++
	if t.listed {
		return
	}
	t.listed = true
	o.untold = append(o.untold, t)
	if len(o.untold) == 1 {
		o.stream.pub.armTell()
	}
}

// armTell makes sure that tellDue runs soon.
func (p *Publisher) armTell() {
	if !p.tellArmed.Swap(true) {
		p.loop.Post(p.tellFunc)
	}
}

// tellLater sets the alarm for tellDue. Loop only.
func (p *Publisher) tellLater() { p.alarms.Set(&p.telling, tellInterval) }

// tellDue tells the subscribers what was left out. Loop only.
func (p *Publisher) tellDue() {
	p.tellArmed.Store(false)
	again := false
	for _, s := range *p.streams.Load() {
		if s.solo != nil {
			s.mu.Lock()
			again = s.solo.turn() || again
			s.mu.Unlock()
		}
	}
	if again {
		p.armTell()
	}
}

// turn tells what was left out, if it is time, and whether something remains.
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

// tell tells what was left out of most tags at most, those that have waited longest,
// except tags of which a message waits that will show it.
func (o *solo) tell(most int) {
	o.tick.turns = 0
	o.stream.sealPage() // what was left out comes after what is in it
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

// tellEnd tells what was left out of a tag that the lane does not want any
// more, and that what waits of it is not sent. The page under construction is
// sealed.
func (o *solo) tellEnd(t *soloTag) {
	if l := o.lane.link; l.gone() {
		// The subscriber finds a gap. What waits is lost with the connection.
		o.lane.account.Add(subscription.CauseLeftOut, t.tag, t.untold)
		if t.waits {
			l.mu.Lock()
			o.lane.dropped++
			l.mu.Unlock()
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
