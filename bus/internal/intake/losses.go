// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/positions"
	"tagbus/subscription"
	"tagbus/tags"
)

// Positions takes the positions of tags that have just become active on this connection.
// If a tag was active on an earlier one, the messages between the last one received and
// the position are lost. The publisher is told by how much the counts of this side exceed
// its own.
//
// Errors: a Violation, or what is wrong with the list.
func (in *Intake[T, G]) Positions(lane uint16, list []byte) error {
	for p, err := range subscription.PositionsOf(list) {
		if err != nil {
			return err
		}
		if err := in.position(lane, p, in.owes(lane, p.Tag), subscription.CauseConnection); err != nil {
			return err
		}
	}
	in.tellMissed(lane, list)
	return nil
}

// Goodbye takes the last positions of tags.
//
// Errors: a Violation, or what is wrong with the list.
func (in *Intake[T, G]) Goodbye(m *subscription.Goodbye) error {
	for p, err := range subscription.PositionsOf(m.List) {
		if err != nil {
			return err
		}
		if err := in.position(m.Lane, p, true, ledger.Ended); err != nil {
			return err
		}
	}
	return nil
}

// position sets the position of a tag. If the publisher owes the tag's messages, those
// after the last one received are lost.
//
// Errors: a Violation.
func (in *Intake[T, G]) position(lane uint16, p subscription.Position, owed bool, cause subscription.Cause) error {
	t, err := in.tagOf(lane, p.Tag)
	if err == nil {
		err = reaches(p.Tag, p.Count)
	}
	switch {
	case err != nil:
		return err
	case !owed:
		t.Tally.Begin(p.Count)
	case p.Count < t.Tally.Position:
		return violation("tag %v stands at %d after %d messages", p.Tag, p.Count, t.Tally.Position)
	case p.Count > t.Tally.Position:
		return in.lose(t, p.Tag, cause, p.Count-t.Tally.Position)
	}
	return nil
}

// owes reports whether the publisher has acknowledged a subscription of a lane to a tag
// that has not ended.
func (in *Intake[T, G]) owes(lane uint16, tag tags.Tag) bool {
	in.Steps += 1 + in.asked.Wide(lane)
	return in.asked.Owes(lane, tag)
}

// Lost takes a report of messages that do not come: in their place among the pages, or as
// totals before an acknowledgement.
//
// Errors: a Violation, or what is wrong with the list.
func (in *Intake[T, G]) Lost(m *subscription.Lost) error {
	for p, err := range subscription.PositionsOf(m.List) {
		if err == nil && p.Count == 0 {
			err = violation("lost no message of tag %v", p.Tag)
		}
		if err != nil {
			return err
		}
		t, err := in.tagOf(m.Lane, p.Tag)
		if err != nil {
			return err
		}
		in.Steps += StepsPerTag
		n := p.Count
		if m.Total {
			if n, err = in.total(t, m, p); err != nil {
				return err
			}
		}
		if n > 0 {
			if err := in.lose(t, p.Tag, m.Cause, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// total compares the publisher's total of a tag with the count of this side, and returns
// how many losses of the subscription are new.
//
// Errors: a Violation.
func (in *Intake[T, G]) total(t *Tag[T, G], m *subscription.Lost, p subscription.Position) (news uint64, err error) {
	if in.told == nil {
		in.told = make(map[laneTag]*ledger.Counts)
	}
	key := laneTag{m.Lane, p.Tag}
	told := in.told[key]
	if told == nil {
		told = new(ledger.Counts)
		in.told[key] = told
	}
	told[m.Cause] = p.Count
	more := t.Tally.News(m.Cause, p.Count)
	if m.Cause != subscription.CauseConnection && in.owes(m.Lane, p.Tag) {
		return more, nil
	}
	if err := in.loses(p.Tag, more); err != nil {
		return 0, err
	}
	// It belongs to a subscription that was closed here before the news came: no
	// event tells of it, and both sides count it.
	t.Tally.TakeOver(m.Cause, more)
	return 0, nil
}

// lose counts messages that do not come, and has the user told.
//
// Errors: a Violation for more than there can be.
func (in *Intake[T, G]) lose(t *Tag[T, G], tag tags.Tag, cause subscription.Cause, n uint64) error {
	if err := in.loses(tag, n); err != nil {
		return err
	}
	if err := reaches(tag, t.Tally.Position+n); err != nil {
		return err
	}
	t.Tally.Lose(cause, n)
	in.count(cause, n)
	in.side.Gap(&t.Gap, tag, cause, n)
	return nil
}

// reaches returns a Violation if a tag cannot be at a position.
func reaches(tag tags.Tag, position uint64) error {
	if position > positions.Max {
		return violation("tag %v is at %d, limit %d", tag, position, uint64(positions.Max))
	}
	return nil
}

// loses counts n more messages of a tag that do not come.
//
// Errors: a Violation if they are too many.
func (in *Intake[T, G]) loses(tag tags.Tag, n uint64) error {
	if n > positions.Max-min(in.lostSum, positions.Max) {
		return violation("the publisher has lost %d messages of tag %v after %d of all, limit %d", n, tag, in.lostSum, uint64(positions.Max))
	}
	in.lostSum += n
	return nil
}

// count counts messages that are lost, here or before.
func (in *Intake[T, G]) count(cause subscription.Cause, n uint64) {
	now := in.clock.Now()
	from := now
	if cause == subscription.CauseConnection && in.heard != 0 {
		from = in.heard // since then nothing came
	}
	in.sums.Losses[cause] += n
	in.sums.Times.Span(cause, from, now)
	in.side.Count(cause, n, from, now)
}

// Drop counts messages of a tag that were received and are lost.
//
//   - cause: ledger.Panic; or ledger.Queue, of which the user is told.
//   - superseded: they are left out on purpose, which is told to no publisher.
func (in *Intake[T, G]) Drop(lane uint16, tag tags.Tag, cause subscription.Cause, n uint64, superseded bool) {
	t := in.remembered(lane, tag)
	t.Tally.Drop(cause, n)
	if superseded {
		in.sums.Superseded += n
	} else {
		in.count(cause, n)
		in.lane(lane).dropping.Add(cause, tag, n)
		in.side.Report()
	}
	if cause == ledger.Queue {
		in.side.Gap(&t.Gap, tag, cause, n)
	}
}
