// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"time"

	"tagbus/bus/state"
)

// End is one of the two instances of a link.
type End struct {
	Instance string `json:"instance"`
	Name     string `json:"name,omitempty"`
	Host     string `json:"host,omitempty"`
	PID      int    `json:"pid,omitempty"`
}

// Label returns what people call the instance.
func (e *End) Label() string { return Label(e.Name, e.Instance) }

// Link is what a table shows of a connection on which messages travel.
type Link struct {
	Time time.Time `json:"time"` // of the look
	From End       `json:"from"` // which sends
	To   End       `json:"to"`

	Backend      string       `json:"backend,omitempty"`      // transport; "": not known
	Policies     []string     `json:"policies,omitempty"`     // of the lanes
	Queue        Share        `json:"queue,omitzero"`         // fullest of its lanes
	Queued       *int         `json:"queued_bytes,omitempty"` // nil, as the limit: the side that has told of it receives
	QueueLimit   *int         `json:"queue_limit_bytes,omitempty"`
	Messages     uint64       `json:"sent_messages"`
	Bytes        uint64       `json:"sent_bytes"`
	Lost         uint64       `json:"lost_messages"`
	LeftOut      uint64       `json:"left_out_messages"`
	Losses       []state.Loss `json:"losses,omitempty"`
	Since        time.Time    `json:"since"`
	Heard        time.Time    `json:"heard,omitzero"`
	StalledSince time.Time    `json:"stalled_since,omitzero"`
	Stuck        bool         `json:"stuck"`                        // it is stalled, or its queue is filling and nothing was taken since the look before
	StalledFor   float64      `json:"stalled_seconds,omitempty"`    // by the clock of the instance that says so
	Broken       uint64       `json:"broken_connections,omitempty"` // of this peer: ended without goodbye, before this one
	LastBroken   time.Time    `json:"last_broken,omitzero"`
	CutOff       bool         `json:"cut_off,omitempty"`     // they end again and again, or one was ended of late because the peer took nothing
	OwnStall     bool         `json:"own_stall,omitempty"`   // the peer has ended some of late because the instance that says so took nothing: the link has no fault
	RoundTrip    float64      `json:"rtt_seconds,omitempty"` // 0: not known

	Resent *uint64 `json:"retransmitted_segments,omitempty"` // nil: its transport does not measure it, or the side that has told of it receives

	MessageRate Rate `json:"sent_messages_per_second,omitzero"`
	ByteRate    Rate `json:"sent_bytes_per_second,omitzero"`
	LostRate    Rate `json:"lost_messages_per_second,omitzero"`
	ResentRate  Rate `json:"retransmitted_segments_per_second,omitzero"`

	Row *Row `json:"-"` // the entry that has told of it
}

// Links returns the connections that the answers have, by the order of the entries and
// then as in the answers, where the worst come first.
func (o *Overview) Links() []Link {
	n := 0
	for i := range o.Rows {
		if s := o.Rows[i].State; s != nil {
			n += len(s.Peers)
		}
	}
	links := make([]Link, 0, n)
	for i := range o.Rows {
		r := &o.Rows[i]
		if r.State == nil {
			continue
		}
		for j := range r.State.Peers {
			links = append(links, r.link(&r.State.Peers[j], o.Time))
		}
	}
	return links
}

func (r *Row) link(p *state.Peer, now time.Time) Link {
	l := Link{
		Time: now, From: EndOf(&r.Entry), To: End{Instance: p.Instance, Name: p.Name, Host: p.Host, PID: p.PID},
		Backend: p.Backend, Queue: queue(p), Queued: p.Queued, QueueLimit: p.QueueLimit, Messages: p.Messages, Bytes: p.Bytes,
		Lost: lostOf(p), LeftOut: p.LeftOut, Losses: p.Losses,
		Since: p.Since, Heard: p.Heard, StalledSince: p.StalledSince, RoundTrip: p.RoundTrip,
		Stuck:  r.stuck(p),
		Broken: p.Broken, LastBroken: p.LastBroken, CutOff: CutOffNow(r.State, p), OwnStall: OwnStallNow(r.State, p),
		MessageRate: r.peerRate(p, sentTo),
		ByteRate:    r.peerRate(p, func(p *state.Peer) uint64 { return p.Bytes }),
		LostRate:    r.peerRate(p, lostOf),
		ResentRate:  Unknown,
		Row:         r,
	}
	receives := RoleOf(&r.Entry) == state.Receiver
	if p.Path != nil && !receives { // what a receiver sends is not what travels on the link
		l.Resent = &p.Path.Retransmitted
		l.ResentRate = r.peerRate(p, func(p *state.Peer) uint64 { return resent(p.Path) })
	}
	if receives {
		l.From, l.To = l.To, l.From
	}
	if !p.StalledSince.IsZero() {
		l.StalledFor = max(0, r.State.Time.Sub(p.StalledSince).Seconds())
	}
	if len(p.Lanes) > 0 {
		l.Policies = make([]string, len(p.Lanes))
		for i := range p.Lanes {
			l.Policies[i] = p.Lanes[i].Policy
		}
	}
	return l
}

// Trouble returns how bad the row is.
func (l *Link) Trouble() Trouble {
	switch {
	case l.Stuck || l.CutOff || l.LostRate > 0:
		return Now
	case l.Lost > 0:
		return Earlier
	default:
		return Fine
	}
}

// resent returns what was sent again, 0 if it is not measured.
func resent(p *state.Path) uint64 {
	if p == nil {
		return 0
	}
	return p.Retransmitted
}

func lostOf(p *state.Peer) uint64 { return state.Lost(p.Losses) }

// waiting returns how much waits for a peer, 0 if that is not known.
func waiting(p *state.Peer) int {
	if p.Queued == nil {
		return 0
	}
	return *p.Queued
}

// queue returns the share of its limit that the fullest lane holds.
func queue(p *state.Peer) Share {
	if p.QueueLimit == nil && len(p.Lanes) == 0 {
		return UnknownShare
	}
	share := Share(0)
	for i := range p.Lanes {
		share = max(share, part(p.Lanes[i].Queued, p.Lanes[i].QueueLimit))
	}
	if p.QueueLimit == nil {
		return share
	}
	return cmp.Or(share, part(waiting(p), *p.QueueLimit))
}

func part(n, of int) Share {
	if of <= 0 {
		return 0
	}
	return Share(n) / Share(of)
}

// peerRate returns by how much a counter of a peer has grown in a second since the look
// before. A connection that is new has no rate yet.
func (r *Row) peerRate(p *state.Peer, counter func(*state.Peer) uint64) Rate {
	before := r.peerBefore(p)
	if before == nil {
		return Unknown
	}
	seconds := Passed(r.Before, r.State).Seconds()
	if seconds <= 0 || counter(p) < counter(before) {
		return Unknown
	}
	return Rate(float64(counter(p)-counter(before)) / seconds)
}

// fewPeers is how many are looked through one by one.
const fewPeers = 16

// peerBefore returns what the look before says of the same connection; nil if nothing.
func (r *Row) peerBefore(p *state.Peer) *state.Peer {
	if r.Before == nil {
		return nil
	}
	peers := r.Before.Peers
	if len(peers) > fewPeers {
		if r.peersBefore == nil {
			r.peersBefore = make(map[string]*state.Peer, len(peers))
			for i := range peers {
				r.peersBefore[peers[i].Instance] = &peers[i]
			}
		}
		return SameConnection(r.peersBefore[p.Instance], r.Before, p, r.State)
	}
	for i := range peers {
		if peers[i].Instance == p.Instance {
			return SameConnection(&peers[i], r.Before, p, r.State)
		}
	}
	return nil
}
