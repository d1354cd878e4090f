// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/signed"
)

// hide takes problems of the directory: a publisher whose entry is not used, as its certificate or a policy is not
// what it has to be, keeps back what is wanted of it, until it acknowledges a subscription all the same. An entry that
// is too old, or was put back, is not that of a publisher.
func (p *Presence) hide(problems error) {
	if p.Began.IsZero() {
		return
	}
	for problem := range directory.Problems(problems) {
		var r *signed.RefusedError
		if !errors.As(problem, &r) || r.Role != directory.Publisher || errors.Is(r, signed.ErrStale) || errors.Is(r, signed.ErrReplayed) ||
			!p.wants(r.Tags) || p.present[r.Instance] != nil || p.denials.of[r.Instance] != nil {
			continue
		}
		peer := bus.Peer{Instance: r.Instance, Name: r.Name, Host: r.Host}
		p.denials.add(r.Instance, &denial{peer: peer.String(), all: true, reason: reasonOf(r)})
	}
}

// unread takes the problems that the directory has at the end: of an entry that cannot be read, or is not found among too
// many, it is not known whether it is of a publisher that is wanted.
func (p *Presence) unread(problems error) {
	if p.Began.IsZero() {
		return
	}
	for problem := range directory.Problems(problems) {
		var r *signed.RefusedError
		if errors.Is(problem, directory.ErrHidden) && !errors.As(problem, &r) {
			p.denials.add(problem.Error(), &denial{peer: "a publisher may be missing", all: true, reason: reasonOf(problem)})
		}
	}
}
