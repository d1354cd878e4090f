// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/internal/sanitize"
	"tagbus/netio"
)

// hasOnly is how a program says that it does not have a transport: package bus/internal/ways.
const hasOnly = "this program has only "

// elsewhere is in the reason of one that sees no process of this name.
var elsewhere = strings.TrimPrefix(netio.ErrElsewhere.Error(), "netio: ")

// dialed is an address in a reason: it differs from one publisher to the next.
var dialed = regexp.MustCompile(` \[?[0-9a-fA-F.:]+(?:%\S+)?\]?:[0-9]+`)

// unused returns a transport that is not used.
//
//   - reason: as the side that has dialed says; "": it says nothing.
func (c *connection) unused(backend, reason string) Unused {
	u := Unused{Backend: backend, Via: c.via}
	switch {
	case reason == "":
		u.Reason = fmt.Sprintf("the %s does not say why", c.peer)
		u.Do = fmt.Sprintf("start the %s with --metrics, and it says why; mostly it is of another user, or in a container", c.peer)
	case strings.HasPrefix(reason, hasOnly):
		u.Reason = fmt.Sprintf("the %s has only %s", c.peer, strings.TrimPrefix(reason, hasOnly))
		u.Do = fmt.Sprintf("start the %s with --backend auto, or with %s in front of what it has", c.peer, backend)
		if backend != withinHost {
			u.Do = fmt.Sprintf("start the %s with %s in front of its --backend, in a program and on a host that have it: --fabrics shows what is there", c.peer, backend)
		}
	case strings.Contains(reason, elsewhere):
		u.Reason = fmt.Sprintf("the %s does not see the socket of the %s, as user, container or --shm-folder differ", c.peer, c.word)
		u.Do = "start both as one user, or give both a --shm-folder that they may use, which is mounted into containers that are to share memory"
	default:
		u.Reason = sanitize.Cut(dialed.ReplaceAllString(strings.TrimPrefix(reason, "by "+backend+": "), ""), state.MaxReason)
		u.Do = "docs/runbook.md, \"Which way does my data take, and why?\""
	}
	return u
}

// UnusedGroup is a transport that several connections do not use, for one reason.
type UnusedGroup struct {
	Unused
	Links []UnusedLink // in the order of the rows
}

// UnusedLink is one of them.
type UnusedLink struct {
	At, Peer End // which has told of the connection, and the other side
}

// UnusedWays returns the transports that connections should have, and do not, by reason; what most
// have comes first.
//
//   - clients: answers of subscribers and senders by their instance, as far as there are some.
func UnusedWays(rows []Row, clients map[string]*state.State) (groups []UnusedGroup) {
	places := make(map[Unused]int)
	for i := range rows {
		r := &rows[i]
		if r.State == nil {
			continue
		}
		for j := range r.State.Peers {
			p := &r.State.Peers[j]
			u, ok := r.Unused(p, clients[p.Instance])
			if !ok {
				continue
			}
			at, known := places[u]
			if !known {
				at = len(groups)
				places[u] = at
				groups = append(groups, UnusedGroup{Unused: u})
			}
			groups[at].Links = append(groups[at].Links, UnusedLink{EndOf(&r.Entry), End{Instance: p.Instance, Name: p.Name, Host: p.Host, PID: p.PID}})
		}
	}
	slices.SortStableFunc(groups, func(a, b UnusedGroup) int {
		return cmp.Or(cmp.Compare(len(b.Links), len(a.Links)), cmp.Compare(a.Reason, b.Reason))
	})
	return groups
}

// Telling returns the clients that may say why they do not use a better transport.
func Telling(rows []Row, clients []directory.Entry) (some []directory.Entry) {
	wanted := make(map[string]bool)
	for _, g := range UnusedWays(rows, nil) {
		for _, l := range g.Links {
			wanted[l.Peer.Instance] = true
		}
	}
	for i := range clients {
		if e := &clients[i]; e.Role.IsClient() && wanted[e.Instance] {
			some = append(some, *e)
		}
	}
	return some
}
