// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"slices"
	"strings"

	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/tags"
)

// searchable returns what a filter looks at.
func searchable(texts ...string) string { return strings.ToLower(strings.Join(texts, "\n")) }

// shortSet returns the text of a set without making one of 100,000 tags long first.
func shortSet(s tags.Set) string {
	const parts = 8
	if s.Parts() <= parts {
		return s.String()
	}
	var b strings.Builder
	n := 0
	for lo, hi := range s.Ranges() {
		if n++; n > parts {
			break
		}
		r, err := tags.Range(lo, hi)
		if err == nil {
			b.WriteString(r.String() + ",")
		}
	}
	return b.String() + "..."
}

// addPeers adds the connections of a process to what is known of their other sides.
func (m *model) addPeers(p *process) {
	s, before := p.row.State, byInstance(p.row.Before)
	for i := range s.Peers {
		l := newLink(p, &s.Peers[i], before[key(&s.Peers[i])])
		m.links = append(m.links, l)
		if overview.OwnStallNow(s, &s.Peers[i]) {
			p.Own++
		}
		q := m.knownPeer[l.ID]
		if q == nil {
			q = &peer{ID: l.ID, Name: l.Name, Role: l.Role, Host: l.Host, PID: l.PID, Rate: noFigure, Bytes: noFigure, LossNow: noFigure, Queue: noFigure, Queued: noFigure, text: l.text}
			m.knownPeer[l.ID] = q
		}
		l.to = q
		q.add(l)
	}
}

// key is what tells a peer from others: one that has said no instance is its address.
func key(p *state.Peer) string {
	if p.Instance == "" {
		return p.Address
	}
	return p.Instance
}

func byInstance(s *state.State) map[string]*state.Peer {
	if s == nil {
		return nil
	}
	known := make(map[string]*state.Peer, len(s.Peers))
	for i := range s.Peers {
		known[key(&s.Peers[i])] = &s.Peers[i]
	}
	return known
}

// filled returns the share of a limit, in hundredths.
func filled(n, limit int) figure {
	if limit <= 0 {
		return 0
	}
	return figure(round(100*float64(n)/float64(limit)) / 100)
}

// newLink makes a connection of what a process says of a peer.
//
//   - before: the same peer a look before; may be nil.
func newLink(p *process, q *state.Peer, before *state.Peer) *link {
	s := p.row.State
	l := &link{from: p, peer: peer{
		ID: text(key(q)), Name: text(q.Name), Role: string(overview.Opposite(s.Role)), Host: text(q.Host), PID: q.PID, Of: 1,
		Rate: noFigure, Bytes: noFigure, LossNow: noFigure,
		Queue: noFigure, Queued: noFigure, Lost: state.Lost(q.Losses), Causes: causesOf(q.Losses),
		Stalled: millis(q.StalledSince), Heard: millis(q.Heard), Trip: q.RoundTrip, LeftOut: q.LeftOut,
	}}
	if q.Path != nil && s.Sending != nil { // what a receiver sends is not what it is sent
		l.Resent = &q.Path.Retransmitted
	}
	l.addVia(p.row, q)
	if q.Queued != nil && q.QueueLimit != nil {
		l.Queue, l.Queued = filled(*q.Queued, *q.QueueLimit), figure(*q.Queued)
	}
	for i := range q.Lanes {
		lane := &q.Lanes[i]
		if lane.QueueLimit > 0 {
			l.Queue = max(l.Queue, filled(lane.Queued, lane.QueueLimit))
		}
		l.Policies = some(l.Policies, []string{text(lane.Policy)}, maxPolicies)
	}
	theirs := overview.Theirs(s, q.Losses)
	losingNow := recent(theirs, s.Time)
	if before = overview.SameConnection(before, p.row.Before, q, s); before != nil {
		seconds := overview.Passed(p.row.Before, s).Seconds()
		l.Rate = grown(q.Messages, before.Messages, seconds)
		l.Bytes = grown(q.Bytes, before.Bytes, seconds)
		l.LossNow = grown(l.Lost, state.Lost(before.Losses), seconds)
		losingNow = losingNow || state.Lost(theirs) > state.Lost(overview.Theirs(p.row.Before, before.Losses))
	}
	switch {
	case !q.StalledSince.IsZero():
		l.Status = stalled
	case losingNow:
		l.Status = losing
	case state.Lost(theirs) > 0:
		l.Status = lost
	}
	l.text, l.cutOff = searchable(l.Name, l.Host, l.ID, l.Role), overview.CutOffNow(s, q)
	return l
}

func grown(now, before uint64, seconds float64) figure {
	if seconds <= 0 || now < before {
		return noFigure
	}
	return figure(round(float64(now-before) / seconds))
}

// add joins a connection.
func (q *peer) add(l *link) {
	q.links = append(q.links, l)
	q.Of++
	q.Status, q.cutOff = max(q.Status, l.Status), q.cutOff || l.cutOff
	q.Rate, q.Bytes, q.LossNow = q.Rate.plus(l.Rate), q.Bytes.plus(l.Bytes), q.LossNow.plus(l.LossNow)
	q.Queue, q.Queued = max(q.Queue, l.Queue), q.Queued.plus(l.Queued)
	q.Lost, q.LeftOut = q.Lost+l.Lost, q.LeftOut+l.LeftOut
	if l.Resent != nil {
		sum := *l.Resent
		if q.Resent != nil {
			sum += *q.Resent
		}
		q.Resent = &sum
	}
	q.Trip, q.Heard = max(q.Trip, l.Trip), max(q.Heard, l.Heard)
	if l.Stalled != 0 && (q.Stalled == 0 || l.Stalled < q.Stalled) {
		q.Stalled = l.Stalled
	}
	q.Via, q.Unused = some(q.Via, l.Via, maxWays), some(q.Unused, l.Unused, maxWays)
	q.Policies = some(q.Policies, l.Policies, maxPolicies)
	for _, c := range l.Causes {
		at := slices.IndexFunc(q.Causes, func(d cause) bool { return d.Cause == c.Cause })
		if at < 0 && len(q.Causes) < maxCauses {
			q.Causes = append(q.Causes, c)
		} else if at >= 0 {
			q.Causes[at] = q.Causes[at].and(c)
		}
	}
}

// addLosses adds a row for each peer that has lost something, and each cause, and for what is
// unconfirmed.
func (m *model) addLosses(p *process) {
	s := p.row.State
	rest := uint64(0)
	if s.Sending != nil {
		rest = s.Sending.Unconfirmed
	}
	add := func(peers []state.Peer, gone bool) {
		for i := range peers {
			q := &peers[i]
			for _, l := range q.Losses {
				if l.Messages == 0 {
					continue
				}
				row := &loss{
					From: p.Name, ID: p.ID, To: text(q.Name), ToID: text(key(q)), Gone: gone,
					Now: !gone && recent([]state.Loss{l}, s.Time), cause: causesOf([]state.Loss{l})[0],
				}
				m.addLoss(row)
			}
			if q.Unconfirmed == 0 {
				continue
			}
			first, last := overview.UnconfirmedSpan(q)
			m.addLoss(&loss{
				From: p.Name, ID: p.ID, To: text(q.Name), ToID: text(key(q)), Gone: gone,
				cause: cause{Cause: unconfirmed, Messages: q.Unconfirmed, First: millis(first), Last: millis(last)},
			})
			rest -= min(rest, q.Unconfirmed)
		}
	}
	add(s.Peers, false)
	add(s.Gone, true)
	if rest > 0 { // of those that are not remembered, or not in the answer
		m.addLoss(&loss{From: p.Name, ID: p.ID, To: "others", cause: cause{Cause: unconfirmed, Messages: rest}})
	}
}

// unconfirmed is the cause of messages that are lost or received, as tagbus losses has it.
const unconfirmed state.Cause = overview.Unconfirmed

func (m *model) addLoss(row *loss) {
	row.text = searchable(row.From, row.ID, row.To, row.ToID, string(row.Cause))
	m.losses = append(m.losses, row)
}

// addTags adds the tags of a process to what is known of them.
func addTags(known map[tags.Tag]*tag, p *process) {
	s := p.row.State
	seen := make(map[tags.Tag]bool, len(s.Busiest)+len(s.Asked))
	for _, list := range [][]state.Tag{s.Busiest, s.Asked} {
		for i := range list {
			t := &list[i]
			if seen[t.Tag] { // among the busiest, and asked for
				continue
			}
			seen[t.Tag] = true
			sum := known[t.Tag]
			if sum == nil {
				sum = &tag{Tag: t.Tag, By: p.Name, ByID: p.ID, text: searchable(t.Tag.String(), fmt.Sprintf("%#x", uint64(t.Tag)), t.Tag.Slashed())}
				known[t.Tag] = sum
			}
			sum.add(t)
		}
	}
}

func (t *tag) add(s *state.Tag) {
	t.Of++
	t.Peers += s.Peers
	t.Count += s.Messages
	t.Last = max(t.Last, millis(s.Last))
	t.Lost += state.Lost(s.Losses)
	t.Rate, t.Bytes = plus(t.Rate, s.MessageRate), plus(t.Bytes, s.ByteRate)
}

// plus adds rates of which each may be unknown.
func plus(a, b *float64) *float64 {
	if b == nil {
		return a
	}
	sum := *b
	if a != nil {
		sum += *a
	}
	sum = round(sum)
	return &sum
}
