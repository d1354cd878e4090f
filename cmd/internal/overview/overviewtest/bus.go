// SPDX-License-Identifier: Apache-2.0

package overviewtest

import (
	"fmt"
	"net/netip"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/tags"
)

// Noon is the time of all looks.
var Noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

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

// another has the subscriber of a publisher go away, while one of the same name is there.
func another(s *state.State, since time.Time) {
	goes(s, time.Minute)
	p := s.Gone[0]
	p.Instance, p.Since, p.Heard, p.Ended, p.Reason = "S2", since, Noon.Add(-time.Second), time.Time{}, ""
	s.Peers, s.Connected = []state.Peer{p}, 1
}

// cut has the connection of a subscriber broken, the last time some while ago. The one of now is new, and has lost nothing.
//
//   - stalls: of the times, how often because the subscriber took nothing.
func cut(times, stalls uint64, ago time.Duration) func(s *state.State) {
	return func(s *state.State) {
		p := &s.Peers[0]
		p.Since, p.Broken, p.StallsEnded = Noon.Add(-ago), times, stalls
		p.FirstBroken, p.LastBroken, p.BrokenReason = Noon.Add(-time.Hour), Noon.Add(-ago), "bus: subscriber takes nothing for 5s"
	}
}

// stood breaks the connection of a subscriber because this process took nothing itself.
func stood(s *state.State) {
	cut(1, 0, time.Minute)(s)
	s.Peers[0].OwnStalls, s.Peers[0].BrokenReason = 1, "bus: this program took nothing for 20s before the other side ended the connection"
}

// first changes what the first publisher says.
func first(do func(s *state.State)) func(o *overview.Overview) {
	return func(o *overview.Overview) { do(o.Rows[0].State) }
}

// silent has the third publisher not answer.
func silent(err error) func(o *overview.Overview) {
	return func(o *overview.Overview) {
		r := &o.Rows[2]
		r.State, r.Before, r.Err, r.SilentSince = nil, nil, err, Noon.Add(-12*time.Second)
	}
}

// receives makes a receiver of the first publisher, and the sender control of its subscriber.
func receives(do func(s *state.State)) func(o *overview.Overview) {
	return func(o *overview.Overview) {
		o.Rows[0].Entry.Role = directory.Receiver
		for _, s := range []*state.State{o.Rows[0].State, o.Rows[0].Before} {
			s.Role, s.Sending, s.Receiving = state.Receiver, nil, &state.Receiving{Pages: s.Messages}
			s.Peers[0].Name, s.Peers[0].QueueLimit, s.Peers[0].Lanes = "control", nil, nil
		}
		do(o.Rows[0].State)
	}
}

// resent has segments sent again, some of them since the look before.
//
//   - of: segments that were sent in all.
func resent(before, now, of uint64) func(o *overview.Overview) {
	return func(o *overview.Overview) {
		o.Rows[0].Before.Peers[0].Path = &state.Path{Segments: of - 100, Retransmitted: before}
		o.Rows[0].State.Peers[0].Path = &state.Path{Segments: of, Retransmitted: now}
	}
}
