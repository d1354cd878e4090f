// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/tags"
)

// contactWork bounds the comparisons of the tags of all clients of a look: some tenths of a second.
const contactWork = 16 * tags.MaxSteps

// Contacts says what the clients of a bus are connected to, as publishers and receivers say. A
// client that serves no metrics says nothing of itself.
//
// Threads: one.
type Contacts struct {
	rows    []Row
	servers map[directory.Role][]int // places in rows
	of      map[string]map[int]bool  // by client, rows: true: connected, false: it has gone from there
	missed  map[string]map[int]bool  // by client, rows of Contact.Missed
	denied  map[string][]Denial      // by client
	budget  *tags.Budget             // of all calls of Of; beyond it they are Unchecked
}

// Contact is how a client stands.
type Contact struct {
	Connected []*Row // those that it is connected to
	Lacking   []*Row // those that have a tag that it wants, and say that it is not connected
	Untold    []*Row // those that have a tag that it wants, and do not tell of all their peers

	Denied []Denial // of those that it is connected to

	Missed    []*Row // those that miss it, as Missing has it, or that it has left so lately that it may be about to come back
	Unchecked bool   // the tags of some are too complex to be compared
}

// comeBack is how long a client may need to come back to a publisher or receiver that it has left.
const comeBack = 15 * time.Second

// Denial is tags that a client wants to have of a publisher, or to send to a receiver, whose policy does not let it.
type Denial struct {
	By   *Row
	Tags string
}

// NewContacts returns the contacts of the clients of some rows, which may be asked of while the rows
// stay as they are. What a row says of its peers counts if it was asked for all of them.
func NewContacts(rows []Row) *Contacts {
	c := &Contacts{rows: rows, servers: make(map[directory.Role][]int), of: make(map[string]map[int]bool), missed: make(map[string]map[int]bool), denied: make(map[string][]Denial), budget: tags.NewBudget(contactWork)}
	for i := range rows {
		r := &rows[i]
		if r.Entry.Role.IsClient() {
			continue
		}
		c.servers[r.Entry.Role] = append(c.servers[r.Entry.Role], i)
		if r.State == nil {
			continue
		}
		for j := range r.State.Gone {
			p := &r.State.Gone[j]
			note(c.of, p.Instance, i, false)
			if !p.Ended.IsZero() && r.State.Time.Sub(p.Ended) < comeBack {
				note(c.missed, p.Instance, i, true)
			}
		}
		for _, p := range Missing(r.State) {
			note(c.missed, p.Instance, i, true)
		}
		for j := range r.State.Peers {
			p := &r.State.Peers[j]
			note(c.of, p.Instance, i, true)
			if p.Denied != "" {
				c.denied[p.Instance] = append(c.denied[p.Instance], Denial{r, p.Denied})
			}
		}
	}
	return c
}

func note(of map[string]map[int]bool, client string, row int, is bool) {
	if of[client] == nil {
		of[client] = make(map[int]bool)
	}
	of[client][row] = is
}

// Of returns how a client stands. What it wants of several counts once: one that is connected to
// another publisher of the same tags lacks nothing.
func (c *Contacts) Of(e *directory.Entry) (found Contact) {
	server, wanted := directory.Publisher, e.Tags
	if e.Role == directory.Sender {
		server = directory.Receiver
	}
	told := c.of[e.Instance]
	for _, d := range c.denied[e.Instance] {
		set, err := tags.ParseSet(d.Tags)
		if err != nil { // it is cut
			found.Denied = append(found.Denied, d)
			continue
		}
		if set, err = set.Intersection(wanted); err == nil && set.IsEmpty() {
			continue // it wants them no more, or never did
		}
		if err == nil {
			d.Tags, _ = set.Short(state.MaxTagsText)
		}
		found.Denied = append(found.Denied, d)
	}
	for i, connected := range told {
		switch r := &c.rows[i]; {
		case r.Entry.Role != server:
		case connected:
			found.Connected = append(found.Connected, r)
		case c.missed[e.Instance][i]:
			found.Missed = append(found.Missed, r)
		}
	}
	slices.SortFunc(found.Connected, func(a, b *Row) int { return cmp.Compare(a.Entry.Instance, b.Entry.Instance) })
	if len(found.Connected) == len(c.servers[server]) {
		return found // there is nothing more to be had
	}
	for _, r := range found.Connected {
		rest, err := c.budget.Without(wanted, r.Entry.Tags)
		if err != nil {
			found.Unchecked = true
			return found
		}
		wanted = rest
	}
	if wanted.IsEmpty() {
		return found
	}
	for _, i := range c.servers[server] {
		if told[i] {
			continue
		}
		r := &c.rows[i]
		has, err := c.budget.Intersects(wanted, r.Entry.Tags)
		switch {
		case err != nil:
			found.Unchecked = true
			return found
		case !has:
		case r.State == nil || len(r.State.Peers) < r.State.Connected:
			found.Untold = append(found.Untold, r)
		default:
			found.Lacking = append(found.Lacking, r)
		}
	}
	return found
}

// NamesOf names the first few of some instances, and says how many there are more.
func NamesOf(rows []*Row) string {
	ends := make([]End, len(rows))
	for i, r := range rows {
		ends[i] = End{Instance: r.Entry.Instance, Name: r.Entry.Name, Host: r.Entry.Host}
	}
	return Named(ends)
}

// Unconnected completes, behind Clients, the rows of clients that no publisher or receiver is
// connected to: with what is remembered of them, or with why that is not known.
func (o *Overview) Unconnected() {
	c, incomplete := NewContacts(o.Rows), directory.Incomplete(o.Problem)
	for i := range o.Rows {
		r := &o.Rows[i]
		if !r.Entry.Role.IsClient() || r.State != nil || r.Entry.Monitor.IsValid() {
			continue
		}
		switch stands := c.Of(&r.Entry); {
		case len(stands.Untold) > 0:
			r.Err = fmt.Errorf("it serves no state, and %s could not be asked for all its peers", NamesOf(stands.Untold))
		case incomplete != nil && len(stands.Connected) == 0:
			r.Err = fmt.Errorf("it serves no state, and what it is connected to may be hidden: the directory is not read whole: %w", incomplete)
		case !stands.Unchecked:
			s := c.remembered(r.Entry.Instance)
			s.Role, s.Instance, s.Name, s.Host, s.PID, s.Since = RoleOf(&r.Entry), r.Entry.Instance, r.Entry.Name, r.Entry.Host, r.Entry.PID, r.Entry.Since
			r.State, r.Err = &s, nil
		}
	}
}

// remembered returns the sums of what is remembered of a client that is not connected.
func (c *Contacts) remembered(client string) state.State {
	var a account
	for row := range c.of[client] {
		s := c.rows[row].State
		for i := range s.Gone {
			if s.Gone[i].Instance == client {
				a.add(s, &s.Gone[i])
			}
		}
	}
	a.sum.Connected, a.sum.ByBackend, a.sum.Fullest = 0, nil, 0
	return a.sum
}
