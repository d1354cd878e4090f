// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"errors"
	"slices"
	"strings"
	"time"

	"tagbus/bus/observer"
	"tagbus/bus/state"
)

// judgement is the problems of a look, under construction.
type judgement struct {
	at  time.Time
	all []Problem
}

// judged is an instance that is judged.
type judged struct {
	*judgement
	row  *Row
	self End
}

// silent says why an instance does not answer.
func (j *judgement) silent(r *Row) {
	p := Problem{Level: Warning, ID: NoAnswer, Culprit: EndOf(&r.Entry), First: r.SilentSince}
	if r.Err == nil {
		if r.SilentSince.IsZero() {
			return // the look has ended before the answer
		}
	} else {
		p.Why = r.Err.Error()
	}
	if withholds(r.Err) {
		p.Level, p.ID = Note, NotObservable
	}
	if errors.Is(r.Err, observer.ErrDenied) {
		p.ID = NotAllowed
		_, p.Why, _ = strings.Cut(r.Err.Error(), observer.ErrDenied.Error()+": ")
	}
	j.all = append(j.all, p)
}

// withholds reports whether an error is of an instance that lives, and does not tell of itself.
func withholds(err error) bool {
	return errors.Is(err, observer.ErrDenied) || errors.Is(err, observer.ErrNotObservable)
}

// row judges an instance that has answered.
func (j *judgement) row(r *Row) {
	x := judged{j, r, EndOf(&r.Entry)}
	s, already := r.State, len(j.all)
	if s.EntryFailing {
		x.itself(Warning, EntryFailing, 0)
	}
	if s.EntryCrowded {
		x.itself(Warning, EntryCrowded, 0)
	}
	if s.AccessFailing {
		x.itself(Warning, AccessFailing, 0)
	}
	x.peers()
	x.denied()
	x.losses()
	x.unconfirmed()
	x.cutOff()
	x.resent()
	x.flow()
	for i := range j.all[already:] {
		j.all[already+i].At = s.Time
	}
}

// itself adds a problem of the instance, of which it tells itself.
func (x *judged) itself(l Level, id string, count uint64) {
	x.own(Problem{Level: l, ID: id, Count: count})
}

// own adds a problem whose culprit is the instance itself.
func (x *judged) own(problem Problem) {
	problem.Culprit, problem.Witness = x.self, x.self
	x.all = append(x.all, problem)
}

// of adds a problem of a peer.
func (x *judged) of(p *state.Peer, problem Problem) {
	problem.Culprit, problem.Witness = End{Instance: p.Instance, Name: p.Name, Host: p.Host, PID: p.PID}, x.self
	x.all = append(x.all, problem)
}

// full is the share of its limit that a queue holds when no further page fits.
const full = 0.95

// peers says which peers take nothing, are silent, or have gone.
func (x *judged) peers() {
	s, stalled := x.row.State, 0
	for i := range s.Peers {
		p := &s.Peers[i]
		switch {
		case x.row.stuck(p):
			stalled++
			since := p.StalledSince
			if b := x.row.Before; since.IsZero() && b != nil {
				since = b.Time // at least
			}
			x.of(p, Problem{Level: Warning, ID: PeerStalled, First: since})
		case queue(p) >= full:
			x.of(p, Problem{Level: Note, ID: QueueFull})
		case !p.Heard.IsZero() && s.Time.Sub(p.Heard) > unheard:
			x.of(p, Problem{Level: Note, ID: PeerQuiet, First: p.Heard})
		}
	}
	if more := s.Stalled - stalled; more > 0 { // those that the answer does not name
		x.itself(Warning, PeerStalled, uint64(more))
	}
	l := Warning
	if s.Connected > len(s.Peers) {
		l = Note // it may be one of those that the answer does not name
	}
	for _, p := range Missing(s) {
		x.of(p, Problem{Level: l, ID: PeerGone, First: p.Ended, Why: p.Reason})
	}
	if s.Silent > 0 {
		x.itself(Note, SilentPeers, s.Silent)
	}
}

// denied says of which subscribers the policy here keeps tags that they want. Which of the tags that are
// kept from a sender it wants to send, its entry says alone: see Contacts.
func (x *judged) denied() {
	if x.row.State.Sending == nil {
		return
	}
	for i := range x.row.State.Peers {
		if p := &x.row.State.Peers[i]; p.Denied != "" {
			x.of(p, Problem{Level: Warning, ID: TagsDenied, Why: p.Denied})
		}
	}
}

// stands reports whether a peer has taken nothing since the look before, although messages
// wait for it.
func (r *Row) stands(p *state.Peer) bool {
	before := r.peerBefore(p)
	return before != nil && waiting(before) > 0 && waiting(p) > 0 && before.Pages == p.Pages && before.Messages == p.Messages
}

// lossNow is how long a loss counts as one of now: causes have seconds, and a subscriber tells
// what it loses itself about once in a second.
const lossNow = 5 * time.Second

// losses says which peers lose messages, or have lost some before.
func (x *judged) losses() {
	s := x.row.State
	rest, restBefore := make(map[state.Cause]state.Loss), make(map[state.Cause]uint64)
	for _, l := range s.Losses {
		rest[l.Cause] = l
	}
	if b := x.row.Before; b != nil && b.Instance == s.Instance {
		for _, l := range b.Losses {
			restBefore[l.Cause] = l.Messages
		}
	} else {
		restBefore = nil
	}
	for i := range s.Peers {
		p := &s.Peers[i]
		var before []state.Loss
		known := false
		if q := x.row.peerBefore(p); q != nil {
			before, known = q.Losses, true
		}
		for _, l := range p.Losses {
			was := LostBy(before, l.Cause)
			x.take(rest, restBefore, l, was, known)
			x.lossOf(p, x.loss(l, was, known))
		}
	}
	for i := range s.Gone {
		for _, l := range s.Gone[i].Losses {
			x.take(rest, restBefore, l, l.Messages, true)
			x.lossOf(&s.Gone[i], x.loss(l, l.Messages, true))
		}
	}
	for _, l := range s.Losses { // of peers that the answer does not name
		if more := rest[l.Cause]; more.Messages > 0 {
			if more.Messages != l.Messages {
				more.First, more.Last = time.Time{}, time.Time{} // are those of the sum, which others have lost
			}
			x.own(x.loss(more, restBefore[l.Cause], restBefore != nil))
		}
	}
}

// lossOf adds what was lost with a peer. At the side that receives, it is that side that was
// too slow, unless a connection was lost.
func (x *judged) lossOf(p *state.Peer, problem Problem) {
	if isOwn(x.row.State, problem.Cause) {
		x.own(problem)
		return
	}
	x.of(p, problem)
}

// isOwn reports whether what a process has lost with a peer is the fault of the process.
func isOwn(s *state.State, cause state.Cause) bool {
	return s.Sending == nil && cause != state.Connection && cause != state.Ended
}

// Theirs returns those losses of a peer that are not the fault of the process that counts them.
func Theirs(s *state.State, losses []state.Loss) []state.Loss {
	if s.Sending != nil {
		return losses
	}
	return slices.DeleteFunc(slices.Clone(losses), func(l state.Loss) bool { return isOwn(s, l.Cause) })
}

// take takes what a peer has lost from what is not known to be of one.
func (x *judged) take(rest map[state.Cause]state.Loss, before map[state.Cause]uint64, l state.Loss, was uint64, known bool) {
	if !known {
		was = 0
	}
	if r, ok := rest[l.Cause]; ok {
		r.Messages -= min(r.Messages, l.Messages)
		rest[l.Cause] = r
	}
	if before != nil {
		before[l.Cause] -= min(before[l.Cause], was)
	}
}

// loss returns the problem of a loss: of now if it has grown, or is a few seconds old.
//
//   - was: how many messages it was in the look before, if that is known.
func (x *judged) loss(l state.Loss, was uint64, known bool) Problem {
	p := Problem{Level: Note, ID: LostBefore, Cause: l.Cause, Count: l.Messages, First: l.First, Last: l.Last}
	switch {
	case known && l.Messages > was: // the count and the times are of one interval
		p.Level, p.ID, p.Count = Warning, Losing, l.Messages-was
		p.First, p.Last = x.row.Before.Time, x.row.State.Time
	case !l.Last.IsZero() && x.row.State.Time.Sub(l.Last) <= lossNow:
		p.Level, p.ID, p.InAll = Warning, Losing, true
	}
	return p
}

// unconfirmed says of which messages it is not known whether a peer has received them.
func (x *judged) unconfirmed() {
	s := x.row.State
	if s.Sending == nil {
		return
	}
	rest, recent := s.Sending.Unconfirmed, false
	for _, list := range [][]state.Peer{s.Peers, s.Gone} {
		for i := range list {
			p := &list[i]
			if p.Unconfirmed == 0 {
				continue
			}
			rest -= min(rest, p.Unconfirmed)
			problem := Problem{Level: Note, ID: Unconfirmed, Count: p.Unconfirmed}
			problem.First, problem.Last = UnconfirmedSpan(p)
			if !problem.Last.IsZero() && s.Time.Sub(problem.Last) <= lately {
				problem.Level, recent = Warning, true
			}
			x.of(p, problem)
		}
	}
	if b := x.row.Before; b != nil && b.Sending != nil && s.Sending.Unconfirmed > b.Sending.Unconfirmed && !recent {
		x.itself(Warning, Unconfirmed, s.Sending.Unconfirmed-b.Sending.Unconfirmed)
	} else if rest > 0 {
		x.itself(Note, Unconfirmed, rest)
	}
}

// flow says what holds up the instance.
func (x *judged) flow() {
	s, b := x.row.State, x.row.Before
	if b != nil && b.Instance == s.Instance && s.Broken > b.Broken {
		x.itself(Warning, ConnectionsBreak, s.Broken-b.Broken)
	}
	if s.Sending == nil {
		return
	}
	switch sending := s.Sending; {
	case sending.PoolPages == 0:
	case sending.PoolFreePages == 0:
		x.itself(Warning, PoolEmpty, uint64(sending.PoolPages))
	case sending.PoolMinFreePages == 0:
		x.itself(Note, PoolWasEmpty, uint64(sending.PoolPages))
	}
	if b != nil && b.Sending != nil && b.Instance == s.Instance && s.Sending.Refusals > b.Sending.Refusals {
		x.itself(Note, Refusing, s.Sending.Refusals-b.Sending.Refusals)
	}
}
