// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"cmp"
	"slices"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
	"tagbus/recording"
	"tagbus/tags"
)

// infoRow is what there is of one tag from one publisher. A recording may have millions: it is small.
type infoRow struct {
	tag             tags.Tag
	messages, bytes uint64
	first, last     int64             // of messages, in ns
	losses          *recording.Losses // nil: none
	publisher       uint32            // its index
}

// infoKey names a row.
type infoKey struct {
	instance string
	tag      tags.Tag
}

// rowKey is an infoKey in 16 bytes.
type rowKey struct {
	tag       tags.Tag
	publisher uint32
}

// rowChunk is how many rows lie together: a slice of all would be copied as it grows.
const rowChunk = 1 << 10

// mostSteps is how many steps of a clock are named one by one.
const mostSteps = 5

// infoRows are the rows, and what is not told in them.
type infoRows struct {
	index      map[rowKey]uint32
	chunks     []*[rowChunk]infoRow
	count      uint32
	publishers []infoPublisher
	instances  map[string]uint32 // indices of publishers

	named    int64         // rows that losses alone may still make
	recorded time.Duration // in which there was data
	holes    []recording.Hole

	steps   []string // of the clock of the recorder, the first of them
	stepsOf []uint64 // how many there are, by file

	untold       uint64 // losses beyond
	untoldLosses recording.Losses
}

// infoPublisher is a publisher of rows.
type infoPublisher struct{ name, instance string }

func newInfoRows(named int64, files int) *infoRows {
	return &infoRows{index: make(map[rowKey]uint32), instances: make(map[string]uint32), named: named, stepsOf: make([]uint64, files)}
}

// at returns the row with an index.
func (rows *infoRows) at(i uint32) *infoRow { return &rows.chunks[i/rowChunk][i%rowChunk] }

// of returns the row of a tag of a publisher; nil: there is none, and makes says to make none.
func (rows *infoRows) of(p *bus.Peer, tag tags.Tag, makes bool) *infoRow {
	instance := instanceOf(p)
	publisher, known := rows.instances[instance]
	if !known {
		if !makes {
			return nil
		}
		publisher = uint32(len(rows.publishers))
		rows.instances[instance] = publisher
		rows.publishers = append(rows.publishers, infoPublisher{nameOf(p), instance})
	}
	key := rowKey{tag, publisher}
	at, ok := rows.index[key]
	switch {
	case ok:
		return rows.at(at)
	case !makes:
		return nil
	}
	if rows.count%rowChunk == 0 {
		rows.chunks = append(rows.chunks, new([rowChunk]infoRow))
	}
	rows.index[key] = rows.count
	row := rows.at(rows.count)
	rows.count++
	row.tag, row.publisher = tag, publisher
	return row
}

// sorted returns the indices of the rows in an order. No row can be added behind it.
func (rows *infoRows) sorted(by string) []uint32 {
	rows.index = nil
	all := make([]uint32, rows.count)
	for i := range all {
		all[i] = uint32(i)
	}
	order := infoOrders[by]
	slices.SortFunc(all, func(i, j uint32) int {
		a, b := rows.at(i), rows.at(j)
		return cmp.Or(order(rows, a, b), rows.compare(a, b))
	})
	return all
}

// gap adds what a Gap names.
func (rows *infoRows) gap(e *recording.Event) {
	row := rows.of(e.Peer, e.Tag, rows.named > 0)
	if row == nil {
		rows.untold++
		rows.untoldLosses[causeOf(e)] += e.Count
		return
	}
	if row.messages == 0 && row.losses == nil {
		rows.named--
	}
	if row.losses == nil {
		row.losses = new(recording.Losses)
	}
	row.losses[causeOf(e)] += e.Count
}

// step adds a step of the clock that is in a file.
func (rows *infoRows) step(file int, e *recording.Event) {
	if rows.stepsOf[file]++; len(rows.steps) < mostSteps {
		e.Text = sanitize.Cut(e.Text, mostTextBytes)
		rows.steps = append(rows.steps, units.FormatTime(e.Time)+" "+e.String())
	}
}

// add adds messages.
func (r *infoRow) add(messages, bytes uint64, first, last int64) {
	if r.messages == 0 || first < r.first {
		r.first = first
	}
	if r.messages == 0 || last > r.last {
		r.last = last
	}
	r.messages += messages
	r.bytes += bytes
}

// lost returns how many are lost, without those that are left out on purpose.
func (r *infoRow) lost() uint64 {
	if r.losses == nil {
		return 0
	}
	return r.losses.Lost()
}

// span returns the times of the first and the last message; zero: there is none.
func (r *infoRow) span() (first, last time.Time) {
	if r.messages == 0 {
		return first, last
	}
	return time.Unix(0, r.first), time.Unix(0, r.last)
}

// nameOf returns what people call a publisher.
func nameOf(p *bus.Peer) string {
	switch {
	case p == nil:
		return ""
	case p.Name == "" && p.Instance != "":
		return bus.ShortInstance(p.Instance)
	default:
		return p.Name
	}
}

// infoOrders are the values of --sort.
var infoOrders = map[string]func(rows *infoRows, a, b *infoRow) int{
	"tag":       func(_ *infoRows, a, b *infoRow) int { return cmp.Compare(a.tag, b.tag) },
	"publisher": func(rows *infoRows, a, b *infoRow) int { return cmp.Compare(rows.by(a).name, rows.by(b).name) },
	"count":     func(_ *infoRows, a, b *infoRow) int { return cmp.Compare(b.messages, a.messages) },
	"bytes":     func(_ *infoRows, a, b *infoRow) int { return cmp.Compare(b.bytes, a.bytes) },
	"lost":      func(_ *infoRows, a, b *infoRow) int { return cmp.Compare(b.lost(), a.lost()) },
	"first":     func(_ *infoRows, a, b *infoRow) int { return compareTimes(a, b, a.first, b.first) },
	"last":      func(_ *infoRows, a, b *infoRow) int { return compareTimes(a, b, a.last, b.last) },
}

// compareTimes orders rows by times, those without messages before all others.
func compareTimes(a, b *infoRow, ofA, ofB int64) int {
	if a.messages == 0 || b.messages == 0 {
		return cmp.Compare(min(a.messages, 1), min(b.messages, 1))
	}
	return cmp.Compare(ofA, ofB)
}

// by returns the publisher of a row.
func (rows *infoRows) by(r *infoRow) *infoPublisher { return &rows.publishers[r.publisher] }

func (rows *infoRows) compare(a, b *infoRow) int {
	pa, pb := rows.by(a), rows.by(b)
	return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(pa.name, pb.name), cmp.Compare(pa.instance, pb.instance))
}
