// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"slices"

	"tagbus/bus/directory"
	"tagbus/bus/state"
)

// Clients completes the rows of clients that do not say anything of themselves by what
// publishers and receivers say of them: how many they are connected to, and the sums of what
// they were sent and have lost. Clients that are connected and not listed get a row, too.
func (o *Overview) Clients() {
	known := make(map[string]*client)
	for i := range o.Rows {
		r := &o.Rows[i]
		if r.State == nil || r.Entry.Role.IsClient() {
			continue
		}
		for j := range r.State.Peers {
			p := &r.State.Peers[j]
			c := known[p.Instance]
			if c == nil {
				c = &client{first: r, peer: p}
				known[p.Instance] = c
			}
			c.now.add(r.State, p)
			if before := r.peerBefore(p); before != nil {
				c.before.add(r.Before, before)
			}
		}
	}
	for i := range o.Rows {
		r := &o.Rows[i]
		if c := known[r.Entry.Instance]; r.Entry.Role.IsClient() {
			delete(known, r.Entry.Instance)
			if r.State == nil && c != nil {
				c.show(r)
			}
		}
	}
	for _, c := range known {
		role := directory.Subscriber
		if c.first.Entry.Role == directory.Receiver {
			role = directory.Sender
		}
		r := Row{Entry: directory.Entry{Instance: c.peer.Instance, Name: c.peer.Name, Host: c.peer.Host, PID: c.peer.PID, Role: role, Backend: cmp.Or(c.peer.Backend, c.first.Entry.Backend)}}
		c.show(&r)
		o.Rows = append(o.Rows, r)
	}
}

// client is what others say of a client.
type client struct {
	first       *Row // that names it
	peer        *state.Peer
	now, before account
}

// show puts what is known into a row.
func (c *client) show(r *Row) {
	now := c.now.sum
	now.Role, now.Instance, now.Name, now.Host, now.PID = RoleOf(&r.Entry), r.Entry.Instance, r.Entry.Name, r.Entry.Host, r.Entry.PID
	r.State, r.Err, r.Told = &now, nil, true
	if c.before.sum.Connected == now.Connected { // else what was sent has grown by what is new
		before := c.before.sum
		r.Before = &before
	}
}

// account sums up what several say.
type account struct{ sum state.State }

// by counts a connection by its transport, if that is known.
func (a *account) by(backend string) {
	if backend == "" {
		return
	}
	at := slices.IndexFunc(a.sum.ByBackend, func(b state.BackendCount) bool { return b.Backend == backend })
	if at < 0 {
		at = len(a.sum.ByBackend)
		a.sum.ByBackend = append(a.sum.ByBackend, state.BackendCount{Backend: backend})
	}
	a.sum.ByBackend[at].Connected++
}

func (a *account) add(s *state.State, p *state.Peer) {
	if a.sum.Connected == 0 {
		a.sum.Time, a.sum.Since = s.Time, p.Since
	}
	a.sum.Connected++
	a.by(p.Backend)
	a.sum.Messages += p.Messages
	a.sum.PayloadBytes += p.Bytes
	a.sum.LeftOut += p.LeftOut
	a.sum.Fullest = max(a.sum.Fullest, float64(queue(p)))
	for _, l := range p.Losses {
		at := slices.IndexFunc(a.sum.Losses, func(x state.Loss) bool { return x.Cause == l.Cause })
		if at < 0 {
			a.sum.Losses = append(a.sum.Losses, l)
			continue
		}
		a.sum.Losses[at].Messages += l.Messages
	}
}
