// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"slices"
	"strings"
)

// order compares two rows by a column, the smaller one first.
type order[T any] func(a, b T) int

// processOrders are the columns by which processes are sorted. The empty one is "".
var processOrders = map[string]order[*process]{
	"name":    func(a, b *process) int { return strings.Compare(a.Name, b.Name) },
	"role":    func(a, b *process) int { return strings.Compare(a.Role, b.Role) },
	"host":    func(a, b *process) int { return strings.Compare(a.Host, b.Host) },
	"peers":   func(a, b *process) int { return cmp.Compare(a.Peers, b.Peers) },
	"rate":    func(a, b *process) int { return cmp.Compare(a.Rate, b.Rate) },
	"bytes":   func(a, b *process) int { return cmp.Compare(a.Bytes, b.Bytes) },
	"queue":   func(a, b *process) int { return cmp.Compare(a.Queue, b.Queue) },
	"free":    func(a, b *process) int { return cmp.Compare(a.Free, b.Free) },
	"refused": func(a, b *process) int { return cmp.Compare(a.Refused, b.Refused) },
	"lost":    func(a, b *process) int { return cmp.Compare(a.Lost, b.Lost) },
	"since":   func(a, b *process) int { return cmp.Compare(a.Since, b.Since) },
	"status":  func(a, b *process) int { return cmp.Or(cmp.Compare(a.need(), b.need()), cmp.Compare(a.Queue, b.Queue)) },
}

var peerOrders = map[string]order[*peer]{
	"name":   func(a, b *peer) int { return strings.Compare(a.Name, b.Name) },
	"role":   func(a, b *peer) int { return strings.Compare(a.Role, b.Role) },
	"host":   func(a, b *peer) int { return strings.Compare(a.Host, b.Host) },
	"of":     func(a, b *peer) int { return cmp.Compare(a.Of, b.Of) },
	"via":    func(a, b *peer) int { return slices.Compare(a.Via, b.Via) },
	"policy": func(a, b *peer) int { return slices.Compare(a.Policies, b.Policies) },
	"rate":   func(a, b *peer) int { return cmp.Compare(a.Rate, b.Rate) },
	"bytes":  func(a, b *peer) int { return cmp.Compare(a.Bytes, b.Bytes) },
	"queue":  func(a, b *peer) int { return cmp.Compare(a.Queue, b.Queue) },
	"lost":   func(a, b *peer) int { return cmp.Compare(a.Lost, b.Lost) },
	"heard":  func(a, b *peer) int { return cmp.Compare(a.Heard, b.Heard) },
	"rtt":    func(a, b *peer) int { return cmp.Compare(a.Trip, b.Trip) },
	"resent": func(a, b *peer) int { return cmp.Compare(resentBy(a), resentBy(b)) },
	"status": func(a, b *peer) int { return -compareTrouble(a, b) },
}

var tagOrders = map[string]order[*tag]{
	"tag":   func(a, b *tag) int { return cmp.Compare(a.Tag, b.Tag) },
	"by":    func(a, b *tag) int { return strings.Compare(a.By, b.By) },
	"of":    func(a, b *tag) int { return cmp.Compare(a.Of, b.Of) },
	"peers": func(a, b *tag) int { return cmp.Compare(a.Peers, b.Peers) },
	"count": func(a, b *tag) int { return cmp.Compare(a.Count, b.Count) },
	"rate":  func(a, b *tag) int { return cmp.Compare(known(a.Rate), known(b.Rate)) },
	"bytes": func(a, b *tag) int { return cmp.Compare(known(a.Bytes), known(b.Bytes)) },
	"last":  func(a, b *tag) int { return cmp.Compare(a.Last, b.Last) },
	"lost":  func(a, b *tag) int { return cmp.Compare(a.Lost, b.Lost) },
}

var lossOrders = map[string]order[*loss]{
	"from":  func(a, b *loss) int { return strings.Compare(a.From, b.From) },
	"to":    func(a, b *loss) int { return strings.Compare(a.To, b.To) },
	"cause": func(a, b *loss) int { return strings.Compare(string(a.Cause), string(b.Cause)) },
	"n":     func(a, b *loss) int { return cmp.Compare(a.Messages, b.Messages) },
	"first": func(a, b *loss) int { return cmp.Compare(a.First, b.First) },
	"last":  func(a, b *loss) int { return cmp.Compare(a.Last, b.Last) },
}

func known(rate *float64) float64 {
	if rate == nil {
		return -1
	}
	return *rate
}

// need is the status by which a process needs a look.
func (p *process) need() status {
	if p.Own > 0 && p.Status < unreachable {
		return losing // one that stood still has lost, or soon does
	}
	return p.Status
}

// need is the status by which a peer needs a look.
func (q *peer) need() status {
	if q.cutOff {
		return max(q.Status, losing)
	}
	return q.Status
}

// compareTrouble orders peers, those that need a look first.
func compareTrouble(a, b *peer) int {
	return cmp.Or(cmp.Compare(b.need(), a.need()), cmp.Compare(b.Queue, a.Queue), cmp.Compare(b.LossNow, a.LossNow))
}

// table is the part of a table that is visible.
type table struct {
	Total   int `json:"total"`
	Matched int `json:"matched"`
	Offset  int `json:"offset"`
	Rows    any `json:"rows"`
}

// cut filters, sorts and cuts rows. Rows that are equal keep their order.
//
//   - standard: the order if the viewer wants none, or one that is not known.
func cut[T any](rows []T, s *shown, orders map[string]order[T], standard string, text func(T) string) table {
	t := table{Total: len(rows)}
	kept := make([]T, 0, len(rows))
	words := strings.Fields(strings.ToLower(s.filter))
	for _, row := range rows {
		if matches(text(row), words) {
			kept = append(kept, row)
		}
	}
	compare, descending := orders[s.sort], s.descending
	if compare == nil {
		compare, descending = orders[standard], true
	}
	slices.SortStableFunc(kept, func(a, b T) int {
		if descending {
			return compare(b, a)
		}
		return compare(a, b)
	})
	t.Matched = len(kept)
	t.Offset = min(s.offset, max(0, len(kept)-s.rows))
	t.Rows = kept[t.Offset:min(t.Offset+s.rows, len(kept))]
	return t
}

// matches reports whether a text has all words.
func matches(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// resentBy returns the segments of TCP that were sent again, -1 if that is not measured.
func resentBy(q *peer) float64 {
	if q.Resent == nil {
		return -1
	}
	return float64(*q.Resent)
}
