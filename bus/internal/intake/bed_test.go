// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"fmt"

	"tagbus/bus/internal/ledger"
	"tagbus/bus/internal/wire"
	"tagbus/subscription"
	"tagbus/tags"
)

// failer is a testing.T or a rapid.T.
type failer interface {
	Helper()
	Fatal(...any)
}

// bed is the user of an Intake: it notes what it is told. A target is a name.
type bed struct {
	in Intake[string, int]

	aims    map[tags.Tag][]string
	aimed   int               // calls of Aim
	asked   map[tags.Tag]bool // that the publisher may send; the value: it owes it
	sent    []subscription.Message
	waits   bool
	reports int
	lost    ledger.Counts // of Count
	gaps    ledger.Counts // of Gap
	gapped  map[tags.Tag]uint64
}

func newBed() *bed {
	b := &bed{aims: make(map[tags.Tag][]string), asked: make(map[tags.Tag]bool), gapped: make(map[tags.Tag]uint64)}
	b.in = New[string, int](b, b, nil)
	return b
}

func (b *bed) Aim(_ uint16, tag tags.Tag) []string {
	b.aimed++
	return b.aims[tag]
}

func (b *bed) Count(cause subscription.Cause, n uint64, _, _ uint32) { b.lost[cause] += n }

func (b *bed) Gap(gap *int, tag tags.Tag, cause subscription.Cause, n uint64) {
	*gap += int(n)
	b.gaps[cause] += n
	b.gapped[tag] += n
}

func (b *bed) Send(m subscription.Message) { b.sent = append(b.sent, m) }
func (b *bed) Waits() bool                 { return b.waits }
func (b *bed) Report()                     { b.reports++ }

func (b *bed) Knows(_ uint16, tag tags.Tag) bool {
	_, knows := b.asked[tag]
	return knows
}

func (b *bed) Owes(_ uint16, tag tags.Tag) bool { return b.asked[tag] }
func (*bed) Wide(uint16) int                    { return 0 }

// take returns what was sent since the last call.
func (b *bed) take() (sent []string) {
	for _, m := range b.sent {
		sent = append(sent, fmt.Sprintf("%+v", m))
	}
	b.sent = nil
	return sent
}

// record is a message of a page.
type record struct {
	tag      tags.Tag
	position uint64
	data     string
}

// pageOf returns a page of lane 0.
//
//   - ack: asks whether the last message was handled.
//   - positions: messages carry theirs.
func pageOf(tb failer, positions, ack bool, records ...record) []byte {
	tb.Helper()
	w := wire.Writer{Positions: positions}
	w.Reset(make([]byte, 1<<16))
	for _, r := range records {
		if !w.Append(r.tag, 0, r.position, []byte(r.data)) {
			tb.Fatal("the page is full")
		}
	}
	var header [wire.HeaderBytes]byte
	wire.PutHeader(&header, 0, positions, ack, w.Messages)
	return append(header[:], w.Mem...)
}

// plain returns the messages of a tag, one with each text.
func plain(tag tags.Tag, data ...string) (all []record) {
	for _, d := range data {
		all = append(all, record{tag: tag, data: d})
	}
	return all
}

// run delivers a page to its end, and returns what each target got.
func (b *bed) run(tb failer, data []byte) (got []string, p Page) {
	tb.Helper()
	if err := b.in.Open(wire.Split(data)); err != nil {
		tb.Fatal(err)
	}
	for b.in.Next() {
		got = append(got, fmt.Sprintf("%v %d:%d=%s", b.in.Targets(), b.in.Reader.Tag, b.in.Position(), b.in.Reader.Data))
	}
	if err := b.in.Err(); err != nil {
		tb.Fatal(err)
	}
	p, err := b.in.End(false)
	if err != nil {
		tb.Fatal(err)
	}
	return got, p
}

// list returns positions as a control message has them.
func list(all ...subscription.Position) (b []byte) {
	last := tags.Tag(0)
	for _, p := range all {
		b = subscription.AppendPosition(b, last, p)
		last = p.Tag
	}
	return b
}
