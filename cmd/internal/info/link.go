// SPDX-License-Identifier: Apache-2.0

//go:build linux

package info

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/table"
	"tagbus/cmd/internal/units"
)

// link is what a publisher or receiver knows of one of its peers.
type link struct {
	Row  *overview.Row // with an answer
	By   *state.State  // that
	Gone bool          // it is remembered
	state.Peer
}

// linksTo returns what is known of a subscriber or sender, by its instance or name. Those
// that are gone count if there is no other.
func linksTo(o overview.Overview, called string) (links []link) {
	add := func(r *overview.Row, peers []state.Peer, gone bool) {
		for _, p := range peers {
			if p.Instance == called || p.Name == called {
				links = append(links, link{r, r.State, gone, p})
			}
		}
	}
	for i := range o.Rows {
		if r := &o.Rows[i]; r.State != nil {
			add(r, r.State.Peers, false)
			add(r, r.State.Gone, true)
		}
	}
	if slices.ContainsFunc(links, func(l link) bool { return l.Instance == called }) {
		links = slices.DeleteFunc(links, func(l link) bool { return l.Instance != called })
	}
	if slices.ContainsFunc(links, func(l link) bool { return !l.Gone }) {
		links = slices.DeleteFunc(links, func(l link) bool { return l.Gone })
	}
	return links
}

// role returns what the peer is.
func (l *link) role() state.Role { return state.Role(peerWord(l.By.Role)) }

// distinct returns the instances of some links.
func distinct(links []link) (all []candidate) {
	for _, l := range links {
		if !slices.ContainsFunc(all, func(c candidate) bool { return c.Instance == l.Instance }) {
			all = append(all, candidate{l.role(), l.Instance, l.Name, l.Host, l.PID})
		}
	}
	return all
}

// linkObject is a link as JSON has it.
type linkObject struct {
	Role              state.Role `json:"role"`
	PublisherInstance string     `json:"publisher_instance,omitempty"` // or of the receiver
	Publisher         string     `json:"publisher,omitempty"`
	Gone              bool       `json:"gone"` // the connection has ended
	state.Peer
}

// goneText says when a peer has gone, and why.
func goneText(now time.Time, p *state.Peer) string {
	const rest = "this is what is remembered of it"
	switch {
	case p.Ended.IsZero():
		return rest
	case p.Reason == "":
		return units.FormatAgo(now, p.Ended) + ", in order; " + rest
	}
	return fmt.Sprintf("%s, without goodbye: %s; %s", units.FormatAgo(now, p.Ended), cli.Words(p.Reason), rest)
}

// links writes what publishers know of a subscriber, or receivers of a sender.
//
//   - listed: its entry; nil if it has none.
//   - itself: its own answer; nil if it has given none.
//   - stands: of what is listed, what it is connected to.
func (l *looker) links(out io.Writer, now time.Time, links []link, listed *directory.Entry, itself *state.State, stands *overview.Contact) error {
	if l.env.JSON {
		t := table.New(out, true)
		for _, k := range links {
			if err := t.Row(linkObject{k.role(), k.By.Instance, k.By.Name, k.Gone, k.Peer}); err != nil {
				return err
			}
		}
		return nil
	}
	slices.SortFunc(links, func(a, b link) int {
		return cmp.Or(cmp.Compare(a.By.Name, b.By.Name), cmp.Compare(a.By.Host, b.By.Host), cmp.Compare(a.By.Instance, b.By.Instance))
	})
	first, p := &links[0], page{out}
	p.head(name(first.Name, first.Instance), first.role(), first.Host, first.PID)
	p.say("instance", "%s", first.Instance)
	switch {
	case listed != nil:
		p.clientEntry(listed, now)
		p.contact(listed, stands, true)
		if first.Gone {
			p.say("gone", "%s", goneText(first.By.Time, &first.Peer))
		}
	case first.Gone:
		p.say("gone", "%s", goneText(first.By.Time, &first.Peer))
	default:
		p.say("known", "by what it is connected to, which is below: it has no entry in %s", l.env.Bus)
	}
	word := string(first.By.Role)
	t := table.New(out, false, laneColumns(word)...)
	var peers []state.Peer
	for i := range links {
		k := &links[i]
		peer := k.Peer
		peer.Host, peer.PID = k.By.Host, k.By.PID
		peer.Name, peer.Instance = k.By.Name, k.By.Instance
		addLanes(t, name(peer.Name, peer.Instance), k.By, &peer)
		peers = append(peers, peer)
	}
	p.table(t)
	p.unusedOf(links, itself)
	p.losses("LOST BY "+strings.ToUpper(word), peers)
	p.denied("DENIED BY "+strings.ToUpper(word), peers)
	p.cutOff("CUT OFF BY "+strings.ToUpper(word), peers)
	return nil
}
