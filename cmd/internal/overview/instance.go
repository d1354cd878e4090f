// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
)

// Rate is how much a counter grows in a second.
type Rate float64

// Unknown is the rate of what was not seen twice.
const Unknown Rate = -1

// Known reports whether there is a rate.
func (r Rate) Known() bool { return r >= 0 }

// IsZero reports whether JSON leaves the rate out: it is not known.
func (r Rate) IsZero() bool { return !r.Known() }

// Trouble is how bad a row is.
type Trouble int

// The degrees of trouble.
const (
	Fine    Trouble = iota
	Earlier         // it has lost messages, none since the look before, or misses a peer
	Now             // it is stalled or stuck, or cut off again and again, or stood still, or has lost messages since the look before
	Silent          // it does not answer
)

// Instance is what a table shows of an entry of the directory.
type Instance struct {
	Time     time.Time  `json:"time"` // of the look
	Instance string     `json:"instance"`
	Name     string     `json:"name,omitempty"`
	Host     string     `json:"host,omitempty"`
	PID      int        `json:"pid,omitempty"`
	Role     state.Role `json:"role"`

	Error       string    `json:"error,omitempty"`       // why it does not answer
	SilentSince time.Time `json:"silent_since,omitzero"` // does not answer since then; zero: it does

	Connected int    `json:"connected_peers"`
	Stalled   int    `json:"stalled_peers"`
	Stuck     int    `json:"stuck_peers"`             // of the peers in the answer: stalled, or their queues are filling and they have taken nothing since the look before
	CutOff    int    `json:"cut_off_peers,omitempty"` // of the peers in the answer: their connections end again and again, or one was ended of late because its peer took nothing
	OwnStalls int    `json:"own_stalls,omitempty"`    // of the peers in the answer: they have ended connections of late because the instance took nothing
	Missing   int    `json:"missing_peers,omitempty"` // went without goodbye lately and have not come back; 0 if the answer does not have all peers
	Fullest   Share  `json:"fullest_queue,omitzero"`
	Worst     string `json:"worst_peer,omitempty"`   // the peer that is stuck or quiet, loses, is cut off again and again, or has more than half of its queue full
	Missed    string `json:"missing_peer,omitempty"` // of those that are missing: the last to go

	Messages     uint64       `json:"messages"`
	PayloadBytes uint64       `json:"payload_bytes"`
	Refusals     uint64       `json:"refusals"`
	Lost         uint64       `json:"lost_messages"`
	Losses       []state.Loss `json:"losses,omitempty"`
	Pages        int          `json:"pool_pages,omitempty"`
	FreePages    int          `json:"pool_free_pages,omitempty"`

	ByBackend []state.BackendCount `json:"connected_by_backend,omitempty"` // the connected peers by their transport

	Resent *uint64 `json:"retransmitted_segments,omitempty"` // on the connections that are open; nil: its transport does not measure it

	MessageRate Rate `json:"messages_per_second,omitzero"`
	ByteRate    Rate `json:"payload_bytes_per_second,omitzero"`
	RefusalRate Rate `json:"refusals_per_second,omitzero"`
	LostRate    Rate `json:"lost_messages_per_second,omitzero"`
	ResentRate  Rate `json:"retransmitted_segments_per_second,omitzero"`

	Row *Row `json:"-"` // what it was made of
}

// Instances returns a row for each entry, in their order.
func (o *Overview) Instances() []Instance {
	rows := make([]Instance, len(o.Rows))
	for i := range o.Rows {
		rows[i] = o.Rows[i].instance(o.Time)
	}
	return rows
}

func (r *Row) instance(now time.Time) Instance {
	e, s := &r.Entry, r.State
	in := Instance{
		Time: now, Instance: e.Instance, Name: e.Name, Host: e.Host, PID: e.PID, Role: RoleOf(e), Row: r,
		SilentSince: r.SilentSince, Fullest: UnknownShare, MessageRate: Unknown, ByteRate: Unknown, RefusalRate: Unknown, LostRate: Unknown, ResentRate: Unknown,
	}
	if s == nil {
		if r.Err != nil {
			in.Error = r.Err.Error()
		}
		return in
	}
	in.Connected, in.Stalled, in.ByBackend = s.Connected, s.Stalled, s.ByBackend
	in.Messages, in.PayloadBytes = s.Messages, s.PayloadBytes
	in.Losses, in.Lost = s.Losses, state.Lost(s.Losses)
	in.MessageRate = r.rate(func(s *state.State) uint64 { return s.Messages })
	in.ByteRate = r.rate(func(s *state.State) uint64 { return s.PayloadBytes })
	in.LostRate = r.rate(func(s *state.State) uint64 { return state.Lost(s.Losses) })
	if s.Sending != nil {
		in.Refusals, in.Pages, in.FreePages = s.Sending.Refusals, s.Sending.PoolPages, s.Sending.PoolFreePages
		in.RefusalRate, in.Fullest = r.rate(refusals), Share(s.Fullest)
	}
	if s.Path != nil {
		in.Resent, in.ResentRate = &s.Path.Retransmitted, r.rate(func(s *state.State) uint64 { return resent(s.Path) })
	}
	in.Stuck, in.Worst = r.peersThat(func(_ *state.State, p *state.Peer) bool { return r.stuck(p) }), r.worst()
	in.CutOff, in.OwnStalls = r.peersThat(CutOffNow), r.peersThat(OwnStallNow)
	if missing := Missing(s); len(missing) > 0 && s.Connected <= len(s.Peers) {
		in.Missing, in.Missed = len(missing), Label(missing[0].Name, missing[0].Instance)
	}
	return in
}

// LosesItself reports whether what is lost now is lost in the instance, which receives it and is too slow.
func (in *Instance) LosesItself() bool {
	return in.LostRate > 0 && in.Row != nil && in.Row.State != nil && in.Row.State.Sending == nil
}

// Trouble returns how bad the row is.
func (in *Instance) Trouble() Trouble {
	switch {
	case in.Row != nil && in.Row.State == nil:
		return Silent
	case in.Stalled > 0 || in.Stuck > 0 || in.CutOff > 0 || in.OwnStalls > 0 || in.LostRate > 0:
		return Now
	case in.Lost > 0 || in.Missing > 0:
		return Earlier
	default:
		return Fine
	}
}

// LostBy returns the messages that were lost for a reason.
func LostBy(losses []state.Loss, cause state.Cause) (messages uint64) {
	for _, l := range losses {
		if l.Cause == cause {
			messages += l.Messages
		}
	}
	return messages
}

// Label returns what people call an instance: its name, or else its id.
func Label(name, instance string) string { return cmp.Or(name, instance) }

// rate is Rate as a single value.
func (r *Row) rate(counter func(*state.State) uint64) Rate {
	if perSecond, ok := r.Rate(counter); ok {
		return Rate(perSecond)
	}
	return Unknown
}

func refusals(s *state.State) uint64 {
	if s.Sending == nil {
		return 0
	}
	return s.Sending.Refusals
}

// nearlyFull is the share of its limit that a queue holds when its peer is worth a look.
const nearlyFull = 0.5

// unheard is longer than a peer is silent between its heartbeats, unless it was told to be.
const unheard = 2500 * time.Millisecond

// peersThat counts the peers of which something is true.
func (r *Row) peersThat(is func(*state.State, *state.Peer) bool) (n int) {
	for i := range r.State.Peers {
		if is(r.State, &r.State.Peers[i]) {
			n++
		}
	}
	return n
}

// stuck reports whether a peer takes nothing: the instance calls it stalled only after it has
// waited for long.
func (r *Row) stuck(p *state.Peer) bool {
	if !p.StalledSince.IsZero() || r.stands(p) {
		return true
	}
	return (r.quiet(p) || queue(p) > nearlyFull) && r.peerRate(p, sentTo) == 0
}

func sentTo(p *state.Peer) uint64 { return p.Messages }

// quiet reports whether messages wait for a peer of which nothing is heard.
func (r *Row) quiet(p *state.Peer) bool {
	return waiting(p) > 0 && !p.Heard.IsZero() && r.State.Time.Sub(p.Heard) > unheard
}

// worst names the peer to look at, if there is one. Answers have the worst ones first.
func (r *Row) worst() string {
	lost := func(p *state.Peer) uint64 { return state.Lost(Theirs(r.State, p.Losses)) }
	for i := range r.State.Peers {
		p := &r.State.Peers[i]
		if r.stuck(p) || r.quiet(p) || queue(p) > nearlyFull || r.peerRate(p, lost) > 0 || CutOffNow(r.State, p) {
			return Label(p.Name, p.Instance)
		}
	}
	return ""
}

// RoleOf returns the role of an entry as states have it.
func RoleOf(e *directory.Entry) state.Role { return cmp.Or(state.Role(e.Role), state.Publisher) }

// Opposite returns the role of what is connected with a role; "" of one that is not known.
func Opposite(role state.Role) state.Role {
	switch role {
	case state.Publisher:
		return state.Subscriber
	case state.Subscriber:
		return state.Publisher
	case state.Receiver:
		return state.Sender
	case state.Sender:
		return state.Receiver
	}
	return ""
}
