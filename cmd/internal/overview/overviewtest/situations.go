// SPDX-License-Identifier: Apache-2.0

// Package overviewtest has the situations of a bus in which all tools must say the same.
package overviewtest

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/observer"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/tags"
)

// Noon is the time of all looks.
var Noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// Situation is a look at a bus of three publishers, of which felix-1 has the subscriber disk.
type Situation struct {
	Name string
	Look overview.Overview
	Want overview.Level // of the worst that is wrong
	ID   string         // of that; "" if nothing is
	Who  string         // the name that is to be said; "" if nothing is worse than a note
}

// look returns a bus with which nothing is wrong.
func look() overview.Overview {
	o := overview.Overview{Time: Noon}
	for i := range 3 {
		e := directory.Entry{
			Instance: fmt.Sprintf("I%d", i+1), Name: fmt.Sprintf("felix-%d", i+1), Host: "pc-1", PID: 101 + i, Backend: "tcp",
			Addresses: []netip.AddrPort{netip.MustParseAddrPort(fmt.Sprintf("10.0.0.%d:7000", i+1))}, Tags: tags.Of(tags.Tag(i)),
		}
		of := func(at time.Time, messages uint64) *state.State {
			s := &state.State{
				Version: state.Version, Time: at, Instance: e.Instance, Role: state.Publisher, Messages: messages, Connected: 1,
				Sending: &state.Sending{PoolPages: 100, PoolFreePages: 90, PoolMinFreePages: 80},
			}
			s.Peers = []state.Peer{{
				Instance: "S1", Name: "disk", Host: "pc-9", Since: Noon.Add(-time.Hour), Heard: at.Add(-time.Second), Messages: messages, Pages: messages,
				QueueLimit: new(100), Lanes: []state.Lane{{Policy: "drop-oldest", QueueLimit: 100}},
			}}
			return s
		}
		o.Rows = append(o.Rows, overview.Row{Entry: e, State: of(Noon, 2000), Before: of(Noon.Add(-time.Second), 1000)})
	}
	return o
}

// goes takes the subscriber of a publisher away, without goodbye.
func goes(s *state.State, ago time.Duration) *state.Peer {
	p := s.Peers[0]
	p.Ended, p.Reason, p.Heard = Noon.Add(-ago), "bus: nothing heard for 6s", Noon.Add(-ago-6*time.Second)
	s.Peers, s.Gone, s.Connected = nil, []state.Peer{p}, 0
	return &s.Gone[0]
}

// loses has the subscriber lose messages of late, or before.
func loses(s *state.State, cause state.Cause, messages uint64, ago time.Duration) {
	s.Losses = []state.Loss{{Cause: cause, Messages: messages, First: Noon.Add(-time.Hour), Last: Noon.Add(-ago)}}
	s.Peers[0].Losses = s.Losses
}

// Situations returns them.
func Situations() []Situation {
	all := []Situation{{Name: "nothing is wrong", Look: look()}}
	add := func(name string, want overview.Level, id, who string, do func(o *overview.Overview)) {
		s := Situation{Name: name, Look: look(), Want: want, ID: id, Who: who}
		do(&s.Look)
		all = append(all, s)
	}
	first := func(do func(s *state.State)) func(o *overview.Overview) {
		return func(o *overview.Overview) { do(o.Rows[0].State) }
	}
	silent := func(err error) func(o *overview.Overview) {
		return func(o *overview.Overview) {
			r := &o.Rows[2]
			r.State, r.Before, r.Err, r.SilentSince = nil, nil, err, Noon.Add(-12*time.Second)
		}
	}
	add("a publisher was killed", overview.Warning, overview.StaleEntry, "felix-3", func(o *overview.Overview) {
		o.Dead = []overview.Dead{{Entry: o.Rows[2].Entry, Since: Noon.Add(-time.Minute), Why: "its process has ended and has left its entry"}}
		o.Rows = o.Rows[:2]
	})
	add("a subscriber vanished", overview.Warning, overview.PeerGone, "disk", first(func(s *state.State) { goes(s, time.Minute) }))
	add("a subscriber vanished long ago", overview.OK, "", "", first(func(s *state.State) { goes(s, time.Hour) }))
	another := func(s *state.State, since time.Time) {
		goes(s, time.Minute)
		p := s.Gone[0]
		p.Instance, p.Since, p.Heard, p.Ended, p.Reason = "S2", since, Noon.Add(-time.Second), time.Time{}, ""
		s.Peers, s.Connected = []state.Peer{p}, 1
	}
	add("one of two subscribers of one name vanished", overview.Warning, overview.PeerGone, "disk", first(func(s *state.State) { another(s, Noon.Add(-time.Hour)) }))
	add("a subscriber vanished and was started again", overview.OK, "", "", first(func(s *state.State) { another(s, Noon.Add(-30*time.Second)) }))
	add("a subscriber left in order", overview.OK, "", "", first(func(s *state.State) { goes(s, time.Minute).Reason = "" }))
	cut := func(times, stalls uint64, ago time.Duration) func(s *state.State) {
		return func(s *state.State) {
			p := &s.Peers[0] // which is new, and has lost nothing
			p.Since, p.Broken, p.StallsEnded = Noon.Add(-ago), times, stalls
			p.FirstBroken, p.LastBroken, p.BrokenReason = Noon.Add(-time.Hour), Noon.Add(-ago), "bus: subscriber takes nothing for 5s"
		}
	}
	add("a subscriber is cut off again and again", overview.Warning, overview.PeerCutOff, "disk", first(cut(2, 0, time.Minute)))
	add("a subscriber was cut off because it took nothing", overview.Warning, overview.PeerCutOff, "disk", first(cut(1, 1, time.Minute)))
	add("a subscriber came back", overview.Note, overview.PeerCutOff, "", first(cut(1, 0, time.Minute)))
	add("a subscriber was cut off long ago", overview.Note, overview.PeerCutOff, "", first(cut(20, 20, time.Hour)))
	add("a publisher was cut off because it stood still", overview.Warning, overview.PeerCutOff, "felix-1", first(func(s *state.State) {
		cut(1, 0, time.Minute)(s)
		s.Peers[0].OwnStalls, s.Peers[0].BrokenReason = 1, "bus: this program took nothing for 20s before the other side ended the connection"
	}))
	receives := func(do func(s *state.State)) func(o *overview.Overview) {
		return func(o *overview.Overview) {
			o.Rows[0].Entry.Role = directory.Receiver
			for _, s := range []*state.State{o.Rows[0].State, o.Rows[0].Before} {
				s.Role, s.Sending, s.Receiving = state.Receiver, nil, &state.Receiving{Pages: s.Messages}
				s.Peers[0].Name, s.Peers[0].QueueLimit, s.Peers[0].Lanes = "control", nil, nil
			}
			do(o.Rows[0].State)
		}
	}
	add("a sender is cut off again and again", overview.Warning, overview.PeerCutOff, "control", receives(cut(2, 0, time.Minute)))
	add("a receiver was cut off because it took nothing itself", overview.Warning, overview.PeerCutOff, "felix-1", receives(func(s *state.State) {
		cut(1, 0, time.Minute)(s)
		s.Peers[0].OwnStalls, s.Peers[0].BrokenReason = 1, "bus: this program took nothing for 20s before the other side ended the connection"
	}))
	add("a sender came back", overview.Note, overview.PeerCutOff, "", receives(cut(1, 0, time.Minute)))
	add("a sender vanished", overview.Warning, overview.PeerGone, "control", receives(func(s *state.State) { goes(s, time.Minute) }))
	resent := func(before, now, of uint64) func(o *overview.Overview) {
		return func(o *overview.Overview) {
			o.Rows[0].Before.Peers[0].Path = &state.Path{Segments: of - 100, Retransmitted: before}
			o.Rows[0].State.Peers[0].Path = &state.Path{Segments: of, Retransmitted: now}
		}
	}
	add("segments get lost on the way", overview.Warning, overview.Resending, "disk", resent(10, 12, 10_000))
	add("segments got lost on the way", overview.Note, overview.Resending, "", resent(12, 12, 10_000))
	add("a few segments get lost on the way", overview.OK, "", "", resent(8, 9, 1000))
	add("one of a million segments gets lost on the way", overview.OK, "", "", resent(98, 100, 100_000_000))
	add("segments get lost on the way to peers that are not named", overview.Warning, overview.Resending, "felix-1", first(func(s *state.State) {
		s.Connected, s.Since, s.Path = 100, Noon.Add(-time.Minute), &state.Path{Segments: 10_000, Retransmitted: 100}
	}))
	add("messages are unconfirmed", overview.Warning, overview.Unconfirmed, "disk", first(func(s *state.State) {
		p := goes(s, time.Minute)
		p.Reason, p.Unconfirmed, s.Sending.Unconfirmed = "", 6176, 6176
	}))
	add("messages are unconfirmed for long", overview.Note, overview.Unconfirmed, "", func(o *overview.Overview) {
		for _, s := range []*state.State{o.Rows[0].State, o.Rows[0].Before} {
			goes(s, time.Hour).Unconfirmed, s.Sending.Unconfirmed = 6176, 6176
		}
	})
	add("a process is stopped", overview.Warning, overview.NoAnswer, "felix-3", silent(fmt.Errorf("%w in 2s", overview.ErrNoAnswer)))
	add("a process cannot be reached", overview.Warning, overview.NoAnswer, "felix-3", silent(errors.New("no route to host")))
	add("a policy denies the answer", overview.Note, overview.NotAllowed, "", silent(fmt.Errorf("observe: %w: no rule such as {}", observer.ErrDenied)))
	add("a process is too old to answer", overview.Note, overview.NotObservable, "", silent(observer.ErrNotObservable))
	add("a subscriber takes nothing", overview.Warning, overview.PeerStalled, "disk", first(func(s *state.State) {
		s.Stalled, s.Peers[0].StalledSince, s.Peers[0].Queued = 1, Noon.Add(-20*time.Second), new(50)
	}))
	add("a subscriber takes nothing from one look to the next", overview.Warning, overview.PeerStalled, "disk", func(o *overview.Overview) {
		now, before := &o.Rows[0].State.Peers[0], &o.Rows[0].Before.Peers[0]
		now.Queued, before.Queued, before.Messages, before.Pages = new(50), new(40), now.Messages, now.Pages
	})
	add("a subscriber loses what its lane has no room for", overview.Warning, overview.Losing, "disk", first(func(s *state.State) { loses(s, state.Full, 7, 0) }))
	add("a subscriber loses in its own queue", overview.Warning, overview.Losing, "disk", first(func(s *state.State) { loses(s, state.Overflow, 7, 3*time.Second) }))
	add("a handler of a subscriber panics", overview.Warning, overview.Losing, "disk", first(func(s *state.State) { loses(s, state.Panic, 1, time.Second) }))
	add("a subscriber has lost before", overview.Note, overview.LostBefore, "", func(o *overview.Overview) {
		loses(o.Rows[0].State, state.Full, 7, time.Minute)
		loses(o.Rows[0].Before, state.Full, 7, time.Minute)
	})
	add("peers that are not named lose", overview.Warning, overview.Losing, "felix-1", first(func(s *state.State) {
		s.Connected, s.Losses = 100, []state.Loss{{Cause: state.Memory, Messages: 9, First: Noon, Last: Noon}}
	}))
	add("a peer loses, and others that are not named have lost before", overview.Warning, overview.Losing, "disk", func(o *overview.Overview) {
		now, before := o.Rows[0].State, o.Rows[0].Before
		loses(now, state.Full, 7, 0)
		now.Connected, before.Connected = 100, 100
		sum := now.Losses[0]
		sum.Messages += 1000
		now.Losses = []state.Loss{sum}
		before.Losses = []state.Loss{{Cause: state.Full, Messages: 1000, First: sum.First, Last: Noon.Add(-time.Minute)}}
	})
	add("connections break", overview.Warning, overview.ConnectionsBreak, "felix-1", first(func(s *state.State) { s.Broken = 3 }))
	add("the pool is empty", overview.Warning, overview.PoolEmpty, "felix-1", first(func(s *state.State) { s.Sending.PoolFreePages = 0 }))
	add("an entry cannot be renewed", overview.Warning, overview.EntryFailing, "felix-1", first(func(s *state.State) { s.EntryFailing = true }))
	add("an entry is one of too many", overview.Warning, overview.EntryCrowded, "felix-1", first(func(s *state.State) { s.EntryCrowded = true }))
	add("the folder has too many names", overview.Error, overview.FolderFull, "", func(o *overview.Overview) { o.Full = true })
	add("the directory does not answer", overview.Error, overview.DirectoryAway, "", func(o *overview.Overview) {
		o.Rows, o.Problem = nil, errors.New("the servers do not answer")
	})
	add("an entry was refused", overview.Warning, overview.DirectoryProblem, "", func(o *overview.Overview) {
		o.Problem = errors.New("entry of I9: the signature is not that of its host")
	})
	return all
}
