// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"net/netip"
	"slices"
	"time"

	"tagbus/bus/state"
)

// UnconfirmedSpan returns when the unconfirmed messages of a peer were on their way: from when it
// was heard last to the end of the connection. Both are zero if that is not known.
func UnconfirmedSpan(p *state.Peer) (first, last time.Time) {
	switch {
	case !p.UnconfirmedTo.IsZero():
		return p.UnconfirmedFrom, p.UnconfirmedTo
	case !p.Ended.IsZero(): // an earlier version tells of the last connection alone
		return p.Heard, p.Ended
	default:
		return time.Time{}, time.Time{}
	}
}

// CutOffNow reports whether the connections of a peer end again and again, or one was ended of
// late because the peer took nothing. It may be connected at each look, and have lost nothing.
func CutOffNow(s *state.State, p *state.Peer) bool { return breaksNow(s, p) && !ownStalls(p) }

// OwnStallNow reports whether a peer has ended connections of late because the program itself,
// which tells of it, took nothing: the program is to be looked at, and not the peer.
func OwnStallNow(s *state.State, p *state.Peer) bool { return breaksNow(s, p) && ownStalls(p) }

// breaksNow reports whether connections of a peer have ended of late, and that is worth a look.
func breaksNow(s *state.State, p *state.Peer) bool {
	return (p.StallsEnded > 0 || p.OwnStalls > 0 || p.Broken > 1) && s.Time.Sub(p.LastBroken) <= lately
}

// ownStalls reports whether connections of a peer have ended because the program that tells of it
// took nothing: half of them at least, and more than because the peer did.
func ownStalls(p *state.Peer) bool { return p.OwnStalls > p.StallsEnded && 2*p.OwnStalls >= p.Broken }

// cutOff says whose connections have ended without goodbye, of those that have come back, and of
// those that went so more than once.
func (x *judged) cutOff() {
	s := x.row.State
	for i := range s.Peers {
		if p := &s.Peers[i]; p.Broken > 0 {
			x.wasCutOff(p)
		}
	}
	for i := range s.Gone {
		if p := &s.Gone[i]; breaksNow(s, p) && p.Reason != "" && p.Broken > 1 { // else it has gone, and that is all
			x.wasCutOff(p)
		}
	}
}

func (x *judged) wasCutOff(p *state.Peer) {
	problem := Problem{Level: Note, ID: PeerCutOff, Count: p.Broken, First: p.FirstBroken, Last: p.LastBroken, Why: p.BrokenReason}
	if breaksNow(x.row.State, p) {
		problem.Level = Warning
	}
	if ownStalls(p) { // the peer waited for it, and has no fault
		if problem.Count = p.OwnStalls; p.OwnStalls < p.Broken {
			problem.First = time.Time{} // it is that of another reason, perhaps
		}
		x.own(problem)
		return
	}
	x.of(p, problem)
}

const (
	// resentShare is the share of segments that are sent again from which on a way is bad: a
	// network in order loses less than one of a million.
	resentShare = 1e-3

	// resentLeast is how many of a connection are sent again at least: a few are so at each
	// change of the network.
	resentLeast = 10
)

// resent says on the way to which peers segments get lost.
func (x *judged) resent() {
	s := x.row.State
	if s.Sending == nil {
		return // what it sends is acknowledgements
	}
	var named state.Path
	for i := range s.Peers {
		p := &s.Peers[i]
		if p.Path == nil {
			continue
		}
		named.Segments, named.Retransmitted = named.Segments+p.Path.Segments, named.Retransmitted+p.Path.Retransmitted
		var before *state.Path
		if q := x.row.peerBefore(p); q != nil {
			before = q.Path
		}
		if problem, bad := x.pathProblem(*p.Path, before, p.Since); bad && !x.withinHost(p) {
			x.of(p, problem)
		}
	}
	if s.Path == nil || s.Connected <= len(s.Peers) {
		return
	}
	rest := state.Path{Segments: s.Path.Segments - min(s.Path.Segments, named.Segments), Retransmitted: s.Path.Retransmitted - min(s.Path.Retransmitted, named.Retransmitted)}
	if problem, bad := x.pathProblem(rest, nil, s.Since); bad { // of peers that the answer does not name
		x.own(problem)
	}
}

// withinHost reports whether no network is between a peer and this instance: what is sent again there tells that
// one of the two stood still.
func (x *judged) withinHost(p *state.Peer) bool {
	at, err := netip.ParseAddrPort(p.Address)
	if err != nil {
		return false
	}
	ip := at.Addr().Unmap()
	return ip.IsLoopback() || slices.ContainsFunc(x.row.Entry.Addresses, func(own netip.AddrPort) bool { return own.Addr().Unmap() == ip })
}

// pathProblem returns what is wrong with a way.
//
//   - before: what was sent at the look before; nil: that is not known.
func (x *judged) pathProblem(now state.Path, before *state.Path, since time.Time) (p Problem, bad bool) {
	if now.Retransmitted < resentLeast || float64(now.Retransmitted) <= resentShare*float64(now.Segments) {
		return p, false
	}
	p = Problem{Level: Note, ID: Resending, Count: now.Retransmitted, Of: now.Segments, First: since, Last: x.row.State.Time}
	grows := before != nil && now.Retransmitted > before.Retransmitted
	if grows || x.row.State.Time.Sub(since) <= lately {
		p.Level = Warning
	}
	return p, true
}
