// SPDX-License-Identifier: Apache-2.0

// Package overviewtest has the situations of a bus in which all tools must say the same.
package overviewtest

import (
	"errors"
	"fmt"
	"time"

	"tagbus/bus/observer"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
)

// Situation is a look at a bus of three publishers, of which felix-1 has the subscriber disk.
type Situation struct {
	Name string
	Look overview.Overview
	Want overview.Level // of the worst that is wrong
	ID   string         // of that; "" if nothing is
	Who  string         // the name that is to be said; "" if nothing is worse than a note
}

// situations are being made.
type situations []Situation

// add adds the look at a bus with which something is wrong.
func (all *situations) add(name string, want overview.Level, id, who string, do func(o *overview.Overview)) {
	s := Situation{Name: name, Look: look(), Want: want, ID: id, Who: who}
	do(&s.Look)
	*all = append(*all, s)
}

// Situations returns them.
func Situations() []Situation {
	all := situations{{Name: "nothing is wrong", Look: look()}}
	all.leave()
	all.breaks()
	all.receiving()
	all.resend()
	all.unconfirmed()
	all.answers()
	all.stall()
	all.lose()
	all.processes()
	all.directories()
	return all
}

// leave adds those of publishers and subscribers that have gone.
func (all *situations) leave() {
	all.add("a publisher was killed", overview.Warning, overview.StaleEntry, "felix-3", func(o *overview.Overview) {
		o.Dead = []overview.Dead{{Entry: o.Rows[2].Entry, Since: Noon.Add(-time.Minute), Why: "its process has ended and has left its entry"}}
		o.Rows = o.Rows[:2]
	})
	all.add("a subscriber vanished", overview.Warning, overview.PeerGone, "disk", first(func(s *state.State) { goes(s, time.Minute) }))
	all.add("a subscriber vanished long ago", overview.OK, "", "", first(func(s *state.State) { goes(s, time.Hour) }))
	all.add("one of two subscribers of one name vanished", overview.Warning, overview.PeerGone, "disk", first(func(s *state.State) { another(s, Noon.Add(-time.Hour)) }))
	all.add("a subscriber vanished and was started again", overview.OK, "", "", first(func(s *state.State) { another(s, Noon.Add(-30*time.Second)) }))
	all.add("a subscriber left in order", overview.OK, "", "", first(func(s *state.State) { goes(s, time.Minute).Reason = "" }))
}

// breaks adds those of connections to subscribers that have broken.
func (all *situations) breaks() {
	all.add("a subscriber is cut off again and again", overview.Warning, overview.PeerCutOff, "disk", first(cut(2, 0, time.Minute)))
	all.add("a subscriber was cut off because it took nothing", overview.Warning, overview.PeerCutOff, "disk", first(cut(1, 1, time.Minute)))
	all.add("a subscriber came back", overview.Note, overview.PeerCutOff, "", first(cut(1, 0, time.Minute)))
	all.add("a subscriber was cut off long ago", overview.Note, overview.PeerCutOff, "", first(cut(20, 20, time.Hour)))
	all.add("a publisher was cut off because it stood still", overview.Warning, overview.PeerCutOff, "felix-1", first(stood))
}

// receiving adds those of a receiver and its sender.
func (all *situations) receiving() {
	all.add("a sender is cut off again and again", overview.Warning, overview.PeerCutOff, "control", receives(cut(2, 0, time.Minute)))
	all.add("a receiver was cut off because it took nothing itself", overview.Warning, overview.PeerCutOff, "felix-1", receives(stood))
	all.add("a sender came back", overview.Note, overview.PeerCutOff, "", receives(cut(1, 0, time.Minute)))
	all.add("a receiver loses in its own queue", overview.Warning, overview.Losing, "felix-1", receives(func(s *state.State) { loses(s, state.Overflow, 7, 3*time.Second) }))
	all.add("a connection of a sender is lost with messages", overview.Warning, overview.Losing, "control", receives(func(s *state.State) { loses(s, state.Connection, 7, 3*time.Second) }))
	all.add("a sender vanished", overview.Warning, overview.PeerGone, "control", receives(func(s *state.State) { goes(s, time.Minute) }))
}

// resend adds those of networks that lose segments.
func (all *situations) resend() {
	all.add("segments get lost on the way", overview.Warning, overview.Resending, "disk", resent(10, 12, 10_000))
	all.add("segments got lost on the way", overview.Note, overview.Resending, "", resent(12, 12, 10_000))
	all.add("a few segments get lost on the way", overview.OK, "", "", resent(8, 9, 1000))
	all.add("one of a million segments gets lost on the way", overview.OK, "", "", resent(98, 100, 100_000_000))
	for _, at := range []string{"127.0.0.1:999", "10.0.0.1:999", "[::ffff:10.0.0.1]:999"} { // a host that stands still sends again, too
		all.add("segments are sent again within a host, at "+at, overview.OK, "", "", func(o *overview.Overview) {
			resent(10, 12, 10_000)(o)
			o.Rows[0].State.Peers[0].Address = at
		})
	}
	all.add("segments get lost on the way to peers that are not named", overview.Warning, overview.Resending, "felix-1", first(func(s *state.State) {
		s.Connected, s.Since, s.Path = 100, Noon.Add(-time.Minute), &state.Path{Segments: 10_000, Retransmitted: 100}
	}))
}

// unconfirmed adds those of messages of which nothing is known.
func (all *situations) unconfirmed() {
	all.add("messages are unconfirmed", overview.Warning, overview.Unconfirmed, "disk", first(func(s *state.State) {
		p := goes(s, time.Minute)
		p.Reason, p.Unconfirmed, s.Sending.Unconfirmed = "", 6176, 6176
	}))
	all.add("messages are unconfirmed for long", overview.Note, overview.Unconfirmed, "", func(o *overview.Overview) {
		for _, s := range []*state.State{o.Rows[0].State, o.Rows[0].Before} {
			goes(s, time.Hour).Unconfirmed, s.Sending.Unconfirmed = 6176, 6176
		}
	})
}

// answers adds those of processes that do not say what they do.
func (all *situations) answers() {
	all.add("a process is stopped", overview.Warning, overview.NoAnswer, "felix-3", silent(fmt.Errorf("%w in 2s", overview.ErrNoAnswer)))
	all.add("a process cannot be reached", overview.Warning, overview.NoAnswer, "felix-3", silent(errors.New("no route to host")))
	all.add("a policy denies the answer", overview.Note, overview.NotAllowed, "", silent(fmt.Errorf("observe: %w: no rule such as {}", observer.ErrDenied)))
	all.add("a process is too old to answer", overview.Note, overview.NotObservable, "", silent(observer.ErrNotObservable))
}

// stall adds those of subscribers that take nothing.
func (all *situations) stall() {
	all.add("a subscriber takes nothing", overview.Warning, overview.PeerStalled, "disk", first(func(s *state.State) {
		s.Stalled, s.Peers[0].StalledSince, s.Peers[0].Queued = 1, Noon.Add(-20*time.Second), new(50)
	}))
	all.add("a subscriber takes nothing from one look to the next", overview.Warning, overview.PeerStalled, "disk", func(o *overview.Overview) {
		now, before := &o.Rows[0].State.Peers[0], &o.Rows[0].Before.Peers[0]
		now.Queued, before.Queued, before.Messages, before.Pages = new(50), new(40), now.Messages, now.Pages
	})
}

// lose adds those of messages that are lost.
func (all *situations) lose() {
	all.add("a subscriber loses what its lane has no room for", overview.Warning, overview.Losing, "disk", first(func(s *state.State) { loses(s, state.Full, 7, 0) }))
	all.add("a subscriber loses in its own queue", overview.Warning, overview.Losing, "disk", first(func(s *state.State) { loses(s, state.Overflow, 7, 3*time.Second) }))
	all.add("a handler of a subscriber panics", overview.Warning, overview.Losing, "disk", first(func(s *state.State) { loses(s, state.Panic, 1, time.Second) }))
	all.add("a subscriber has lost before", overview.Note, overview.LostBefore, "", func(o *overview.Overview) {
		loses(o.Rows[0].State, state.Full, 7, time.Minute)
		loses(o.Rows[0].Before, state.Full, 7, time.Minute)
	})
	all.add("peers that are not named lose", overview.Warning, overview.Losing, "felix-1", first(func(s *state.State) {
		s.Connected, s.Losses = 100, []state.Loss{{Cause: state.Memory, Messages: 9, First: Noon, Last: Noon}}
	}))
	all.add("a peer loses, and others that are not named have lost before", overview.Warning, overview.Losing, "disk", func(o *overview.Overview) {
		now, before := o.Rows[0].State, o.Rows[0].Before
		loses(now, state.Full, 7, 0)
		now.Connected, before.Connected = 100, 100
		sum := now.Losses[0]
		sum.Messages += 1000
		now.Losses = []state.Loss{sum}
		before.Losses = []state.Loss{{Cause: state.Full, Messages: 1000, First: sum.First, Last: Noon.Add(-time.Minute)}}
	})
}

// processes adds those of a publisher itself.
func (all *situations) processes() {
	all.add("connections break", overview.Warning, overview.ConnectionsBreak, "felix-1", first(func(s *state.State) { s.Broken = 3 }))
	all.add("the pool is empty", overview.Warning, overview.PoolEmpty, "felix-1", first(func(s *state.State) { s.Sending.PoolFreePages = 0 }))
	all.add("an entry cannot be renewed", overview.Warning, overview.EntryFailing, "felix-1", first(func(s *state.State) { s.EntryFailing = true }))
	all.add("a policy cannot be read again", overview.Warning, overview.AccessFailing, "felix-1", first(func(s *state.State) { s.AccessFailing = true }))
	all.add("a policy keeps tags from a subscriber", overview.Warning, overview.TagsDenied, "disk", first(func(s *state.State) { s.Peers[0].Denied = "0x5" }))
	all.add("a policy keeps tags from a sender, which may not want them", overview.OK, "", "", receives(func(s *state.State) { s.Peers[0].Denied = "0x5" }))
	all.add("an entry is one of too many", overview.Warning, overview.EntryCrowded, "felix-1", first(func(s *state.State) { s.EntryCrowded = true }))
}

// directories adds those of the directory.
func (all *situations) directories() {
	all.add("the folder has too many names", overview.Error, overview.FolderFull, "", func(o *overview.Overview) { o.Full = true })
	all.add("the directory does not answer", overview.Error, overview.DirectoryAway, "", func(o *overview.Overview) {
		o.Rows, o.Problem = nil, errors.New("the servers do not answer")
	})
	all.add("an entry was refused", overview.Warning, overview.DirectoryProblem, "", func(o *overview.Overview) {
		o.Problem = errors.New("entry of I9: the signature is not that of its host")
	})
}
