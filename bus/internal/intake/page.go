// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"tagbus/bus/internal/wire"
	"tagbus/subscription"
	"tagbus/tags"
)

// page counts within a page, so that shared counters are touched once.
type page struct {
	Page
	size     int
	version  int    // of the intake when the page began
	failedAt uint64 // number in the page of the last message that was not handled
	counted  uint64 // of Messages and Unwanted, in the lane
}

// Page is what has come in a page.
type Page struct {
	Messages, Bytes uint64 // delivered, and their payload
	Unwanted        uint64 // messages without a target
}

// number returns that of the current message in the page.
func (p *page) number() uint64 { return p.Messages + p.Unwanted }

// Open begins to deliver the messages of a page, in place. End follows.
//
//   - head, records: the header and the rest, as wire.Split returns them.
//   - Errors: *wire.Error, and there is nothing to deliver.
func (in *Intake[T, G]) Open(head, records []byte) error {
	if err := in.Reader.Reset(head, records); err != nil {
		return err
	}
	in.page = page{size: len(head) + len(records), version: in.version}
	in.here, in.tag, in.err = nil, nil, nil
	if number := int(in.Reader.Lane); number < len(in.lanes) {
		in.here = in.lanes[number]
	}
	return nil
}

// Next finds the next message of the page that has a target, counts it as delivered, and
// those without as unwanted. It returns false at the end, and when Err returns an error. It
// may be called again after a target has panicked.
func (in *Intake[T, G]) Next() bool {
	r := &in.Reader
	for {
		ok, err := r.Next()
		if !ok {
			in.err = err
			return false
		}
		t := in.tag
		if r.NewTag || t == nil {
			if in.here == nil { // the lane is new
				t = nil
			} else {
				t = in.here.tags.Get(r.Tag)
			}
			if t == nil {
				if t, in.err = in.tagOf(r.Lane, r.Tag); t == nil {
					return false
				}
			}
			in.tag = t
		}
		if t.version != in.version { // a target may have changed it
			in.aim(t, r.Lane, r.Tag)
		}
		if r.Positions && r.Position != t.Tally.Position+1 {
			if in.err = in.skip(t, r); in.err != nil {
				return false
			}
		}
		if len(t.targets) > 0 {
			in.Delivered(len(r.Data))
			return true
		}
		t.Tally.Decline()
		in.page.Unwanted++
		in.Fails()
	}
}

// Err returns why the page has ended before its time: *wire.Error, or a Violation.
func (in *Intake[T, G]) Err() error { return in.err }

// Targets returns where the message that Next has found is to be delivered, at least one.
// The slice does not change.
func (in *Intake[T, G]) Targets() []T { return in.tag.targets }

// Position returns that of the message that was delivered last.
func (in *Intake[T, G]) Position() uint64 { return in.tag.Tally.Position }

// Same reports whether the messages of this tag still have the same targets. As long as
// they have, its user may read plain messages behind the one that Next has found: from
// Reader, one by one or as a run.
func (in *Intake[T, G]) Same() bool { return in.tag.version == in.version }

// Delivered counts such a message, and returns its position.
func (in *Intake[T, G]) Delivered(bytes int) (position uint64) {
	in.tag.Tally.Deliver()
	in.page.Messages++
	in.page.Bytes += uint64(bytes)
	return in.tag.Tally.Position
}

// DeliveredAll counts several such messages.
func (in *Intake[T, G]) DeliveredAll(messages, bytes int) {
	in.tag.Tally.DeliverAll(uint64(messages))
	in.page.Messages += uint64(messages)
	in.page.Bytes += uint64(bytes)
}

// Fails notes that a target has not handled the message that was delivered last.
func (in *Intake[T, G]) Fails() { in.page.failedAt = in.page.number() }

// Moved reports whether messages may have other targets than when the page began: each
// target is to be asked, then, whether it still takes them.
func (in *Intake[T, G]) Moved() bool { return in.version != in.page.version }

// CountPage counts the messages of the page so far as received, when End may be too late.
func (in *Intake[T, G]) CountPage() {
	p := &in.page
	if n := p.number() - p.counted; n > 0 { // else there may be no such lane
		p.counted += n
		in.lanes[in.Reader.Lane].got.Add(n)
	}
}

// End ends the page. It answers a page that asks whether its last message was handled.
//
//   - broken: the connection has ended, and nothing is answered.
//   - Errors: a Violation.
func (in *Intake[T, G]) End(broken bool) (p Page, err error) {
	in.CountPage()
	if r := &in.Reader; r.Ack && r.Left == 0 && !broken {
		err = in.acknowledge()
	}
	p = in.page.Page
	in.sums.Messages += p.Messages
	in.sums.Bytes += uint64(in.page.size)
	in.sums.Pages++
	in.page = page{}
	return p, err
}

func (in *Intake[T, G]) acknowledge() error {
	r := &in.Reader
	t, err := in.tagOf(r.Lane, r.Tag)
	if err == nil {
		in.side.Send(&subscription.Ack{Tag: uint64(r.Tag), Position: t.Tally.Position, Failed: in.page.failedAt == in.page.number()})
	}
	return err
}

// aim determines the targets of the messages of a tag.
func (in *Intake[T, G]) aim(t *Tag[T, G], lane uint16, tag tags.Tag) {
	t.version = in.version
	in.Steps += StepsPerTag + in.asked.Wide(lane)
	t.targets = in.side.Aim(lane, tag) // a new slice: the old one may be in use further up the stack
}

// skip counts the messages before one that the policy of the lane has left out.
//
// Errors: a Violation.
func (in *Intake[T, G]) skip(t *Tag[T, G], r *wire.Reader) error {
	if at := t.Tally.Position; r.Position <= at {
		return violation("tag %v goes from %d back to %d", r.Tag, at, r.Position)
	}
	if err := reaches(r.Tag, r.Position); err != nil {
		return err
	}
	return in.lose(t, r.Tag, subscription.CauseLeftOut, r.Position-1-t.Tally.Position)
}
