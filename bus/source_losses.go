package bus

import (
	"errors"

	"tagbus/bus/internal/ledger"
	"tagbus/subscription"
	"tagbus/tags"
)

// laneTag names what is counted together.
type laneTag struct {
	lane uint16
	tag  tags.Tag
}

// onLost handles a report of messages that do not come: in their place among the pages,
// or as totals before an acknowledgement.
func (src *source) onLost(m *subscription.Lost) {
	for p, err := range subscription.PositionsOf(m.List) {
		if err == nil && p.Count == 0 {
			err = protocolError("lost no message of tag %v", p.Tag)
		}
		if err != nil {
			src.fail(errors.Join(ErrProtocol, err))
			return
		}
		rcv := src.receivedOf(m.Lane, p.Tag)
		if rcv == nil {
			return
		}
		src.steps += stepsPerTag
		n := p.Count
		if m.Total {
			n = src.onTotal(rcv, m, p)
		}
		if src.fault != nil || n > 0 && !src.lose(rcv, p.Tag, m.Cause, n) {
			return
		}
	}
}

// onTotal compares the publisher's total of a tag with the count of this side, and
// returns how many losses of the subscription are new.
func (src *source) onTotal(rcv *received, m *subscription.Lost, p subscription.Position) (news uint64) {
	if src.told == nil {
		src.told = make(map[laneTag]*ledger.Counts)
	}
	key := laneTag{m.Lane, p.Tag}
	told := src.told[key]
	if told == nil {
		told = new(ledger.Counts)
		src.told[key] = told
	}
	told[m.Cause] = p.Count
	more := p.Count - min(p.Count, rcv.losses()[m.Cause])
	if m.Cause != subscription.CauseConnection && src.owed(m.Lane, p.Tag) {
		return more
	}
	if !src.loses(p.Tag, more) {
		return 0
	}
	// The subscription was closed here before the report came. There is no event, and
	// both sides count the loss.
	rcv.losses()[m.Cause] += more
	rcv.unwanted -= more // of those up to the position that follows
	return 0
}

// losses returns the counts of lost messages of a tag.
func (rcv *received) losses() *ledger.Counts {
	if rcv.lost == nil {
		rcv.lost = new(ledger.Counts)
	}
	return rcv.lost
}

// lose counts and reports messages that do not come. If there cannot be so many, it
// ends the connection and returns false.
func (src *source) lose(rcv *received, tag tags.Tag, cause subscription.Cause, n uint64) bool {
	if !src.loses(tag, n) || !src.reaches(tag, rcv.count+n) {
		return false
	}
	rcv.count += n
	rcv.losses()[cause] += n
	src.sub.counters.addLost(cause, n)
	src.gap(rcv, tag, cause, n)
	return true
}

// tellMissed reports to the publisher by how much the counts of this side exceed its
// own, for the tags whose positions it has just sent.
func (src *source) tellMissed(lane uint16, positions []byte) {
	var missed ledger.Notice
	for p, err := range subscription.PositionsOf(positions) {
		if err != nil {
			return // they were read without one before
		}
		src.steps++
		rcv := src.lane(lane).received.Get(p.Tag)
		if rcv == nil || rcv.lost == nil {
			continue
		}
		key := laneTag{lane, p.Tag}
		told := src.told[key]
		if told == nil {
			told = new(ledger.Counts)
		}
		delete(src.told, key)
		for cause := subscription.Cause(1); cause < subscription.Causes; cause++ {
			if n := rcv.lost[cause]; n > told[cause] {
				missed.Add(cause, p.Tag, n-told[cause])
			}
		}
	}
	missed.Lists(func(cause subscription.Cause, counts []subscription.Position) {
		for list := range positionLists(counts) {
			src.send(&subscription.Missed{Lane: lane, Cause: cause, List: list})
		}
	})
}
