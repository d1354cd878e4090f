// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"math"
	"slices"
)

// Order is what rows are sorted by. The largest come first.
type Order string

// The orders.
const (
	ByMessages Order = "msgs"  // messages a second
	ByBytes    Order = "bytes" // bytes a second
	ByQueue    Order = "queue" // stuck ones, and then the fullest queue
	ByLost     Order = "lost"  // lost a second, and then lost at all
)

// Orders are all of them, in the order in which a key goes through them.
var Orders = []Order{ByQueue, ByLost, ByMessages, ByBytes}

// Next returns the order behind o.
func (o Order) Next() Order { return Orders[(slices.Index(Orders, o)+1)%len(Orders)] }

// Sorter puts rows into an order in which they do not jump. A row keeps its place while
// its figures differ by less than a tenth from those for which it came there; rows that are
// alike stand by name. Rows of instances that do not answer are the last.
//
// The zero value is ready. Threads: one.
type Sorter struct {
	by   Order
	held map[rowID]rank
}

// rowID is what a row is about: an instance, or a link.
type rowID struct{ from, to string }

// rank is what a row is sorted by: the first that differs decides.
type rank [3]float64

// sorted is what a row is sorted by.
type sorted struct {
	at   int // which row
	rank rank
	name [2]string
	id   rowID
}

// Instances sorts rows in place.
func (s *Sorter) Instances(rows []Instance, by Order) {
	arrange(s, rows, by, func(in *Instance) sorted {
		rates := [2]Rate{in.MessageRate, in.ByteRate}
		stalled := float64(max(in.Stalled, in.Stuck))
		if in.Missing > 0 || in.CutOff > 0 || in.OwnStalls > 0 {
			stalled += 0.5 // behind those that wait for one more
		}
		r := rankOf(by, rates, stalled, float64(max(0, in.Fullest)), in.LostRate, in.Lost)
		if in.Trouble() == Silent {
			r = rank{math.Inf(-1)}
		}
		return sorted{rank: r, name: [2]string{in.Name}, id: rowID{from: in.Instance}}
	})
}

// Links sorts rows in place. Those that are stalled for longest come first.
func (s *Sorter) Links(rows []Link, by Order) {
	arrange(s, rows, by, func(l *Link) sorted {
		stalled := 0.0
		switch {
		case l.Stuck:
			stalled = max(1, l.StalledFor)
		case l.CutOff: // its queue is new, and empty
			stalled = 0.5
		}
		return sorted{
			rank: rankOf(by, [2]Rate{l.MessageRate, l.ByteRate}, stalled, float64(max(0, l.Queue)), l.LostRate, l.Lost),
			name: [2]string{l.From.Name, l.To.Name}, id: rowID{l.From.Instance, l.To.Instance},
		}
	})
}

// rankOf returns what a row is sorted by.
//
//   - rates: messages and bytes.
func rankOf(by Order, rates [2]Rate, stalled, queue float64, lostRate Rate, lost uint64) rank {
	messages, bytes := float64(rates[0]), float64(rates[1])
	switch by {
	case ByBytes:
		return rank{bytes, messages}
	case ByLost:
		return rank{float64(max(0, lostRate)), float64(lost), messages}
	case ByQueue:
		return rank{stalled, math.Ceil(queue * queueSteps), messages}
	default:
		return rank{messages, bytes}
	}
}

// queueSteps is how many fillings of a queue are told from each other.
const queueSteps = 20

func arrange[R any](s *Sorter, rows []R, by Order, describe func(*R) sorted) {
	if s.by != by {
		s.by, s.held = by, nil
	}
	all := make([]sorted, len(rows))
	held := make(map[rowID]rank, len(rows))
	for i := range rows {
		all[i] = describe(&rows[i])
		all[i].at = i
		if before, ok := s.held[all[i].id]; ok {
			all[i].rank.settle(before)
		}
		held[all[i].id] = all[i].rank
	}
	s.held = held
	slices.SortFunc(all, func(a, b sorted) int {
		if c := slices.Compare(a.rank[:], b.rank[:]); c != 0 {
			return -c
		}
		return cmp.Or(
			slices.Compare(a.name[:], b.name[:]),
			cmp.Compare(a.id.from, b.id.from), cmp.Compare(a.id.to, b.id.to), a.at-b.at,
		)
	})
	before := slices.Clone(rows)
	for i := range all {
		rows[i] = before[all[i].at]
	}
}

// settle keeps what has hardly changed.
func (r *rank) settle(before rank) {
	for i, b := range before {
		if math.Abs(r[i]-b) < 0.1*max(math.Abs(r[i]), math.Abs(b)) {
			r[i] = b
		}
	}
}
