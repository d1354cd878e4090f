// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"errors"
	"time"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/positions"
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
	more := rcv.tally.News(m.Cause, p.Count)
	if m.Cause != subscription.CauseConnection && src.owed(m.Lane, p.Tag) {
		return more
	}
	if !src.loses(p.Tag, more) {
		return 0
	}
	// It belongs to a subscription that was closed here before the news came: no
	// event tells of it, and both sides count it.
	rcv.tally.TakeOver(m.Cause, more)
	return 0
}

// lose counts and reports messages that do not come. It returns false, and ends
// the connection, for more than there can be.
func (src *source) lose(rcv *received, tag tags.Tag, cause subscription.Cause, n uint64) bool {
	if !src.loses(tag, n) || !src.reaches(tag, rcv.tally.Position+n) {
		return false
	}
	rcv.tally.Lose(cause, n)
	src.addLost(cause, n)
	src.gap(rcv, tag, cause, n)
	return true
}

// reportInterval is the time between events about messages that the policies Latest and
// Sample leave out, or that the queues of subscriptions lose.
const reportInterval = time.Second

// lostTag is what the Gap events of a tag say besides cause and number.
type lostTag struct {
	src *source
	tag tags.Tag
}

// Gap implements events.Key.
func (t lostTag) Gap(cause subscription.Cause, n uint64) Event {
	return Event{Kind: Gap, Peer: t.src.contact.peer, Tag: t.tag, Count: n, Err: gapCauses[cause]}
}

// gap schedules a Gap event for n messages that do not come.
func (src *source) gap(rcv *received, tag tags.Tag, cause subscription.Cause, n uint64) {
	if src.sub.gaps.Add(&rcv.gap, lostTag{src, tag}, cause, n) {
		src.sub.reportSoon()
	}
}

// tellMissed reports to the publisher by how much the counts of this side exceed its
// own, for the tags whose positions it has just sent.
func (src *source) tellMissed(lane uint16, list []byte) {
	var missed ledger.Notice
	for p, err := range subscription.PositionsOf(list) {
		if err != nil {
			return // they were read without one before
		}
		src.steps++
		rcv := src.lane(lane).received.Get(p.Tag)
		if rcv == nil {
			continue
		}
		key := laneTag{lane, p.Tag}
		rcv.tally.Excess(src.told[key], func(cause subscription.Cause, n uint64) { missed.Add(cause, p.Tag, n) })
		delete(src.told, key)
	}
	missed.Lists(func(cause subscription.Cause, counts []subscription.Position) {
		for list := range positions.Lists(counts) {
			src.send(&subscription.Missed{Lane: lane, Cause: cause, List: list})
		}
	})
}

// reaches reports whether a tag can be at a position, and otherwise ends the
// connection.
func (src *source) reaches(tag tags.Tag, position uint64) bool {
	if position > positions.Max {
		src.fail(protocolError("tag %v is at %d, limit %d", tag, position, uint64(positions.Max)))
		return false
	}
	return true
}

// loses reports whether n more messages of a tag can be lost, and otherwise ends
// the connection.
func (src *source) loses(tag tags.Tag, n uint64) bool {
	if n > positions.Max-min(src.lostSum, positions.Max) {
		src.fail(protocolError("the publisher has lost %d messages of tag %v after %d of all, limit %d", n, tag, src.lostSum, uint64(positions.Max)))
		return false
	}
	src.lostSum += n
	return true
}

// addLost counts messages, of which there may be very many from all publishers.
func (src *source) addLost(cause subscription.Cause, n uint64) {
	const most = 1 << 60
	s, now := src.sub, src.sub.second.Now()
	all := &s.counters.lost[cause]
	all.Add(min(n, most-min(all.Load(), most)))
	from := now
	if cause == subscription.CauseConnection && src.heardAt != 0 {
		from = src.heardAt // since then nothing came
	}
	s.lostAt.Span(cause, from, now)
	src.losses[cause] += n
	src.lossTimes.Span(cause, from, now)
}
