// SPDX-License-Identifier: Apache-2.0

package door

import (
	"fmt"
	"sync/atomic"
	"time"

	"tagbus/acl"
	"tagbus/identity"
	"tagbus/internal/backoff"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// Refusal says that no rule of the policy lets a peer do something with some tags.
type Refusal struct {
	Who    identity.Principal
	Action acl.Action
	Tags   tags.Set // with which; empty: with none of those that are here
	Rule   string   // the rule that is nearest, for this side only; may be empty
	Times  uint64   // how often it was refused since it was told last; 0: once
}

// NoRule tells the text of a Refusal from others, when it comes as the reason of a refusal.
const NoRule = ": no rule such as "

// shownBytes is how much of a set a text names.
const shownBytes = 200

// String names the peer, the action, the tags, and the rule that is missing. Of the rules that
// there are it names that of Rule alone.
func (r Refusal) String() string {
	with, missing := "anything here", "TAGS"
	if !r.Tags.IsEmpty() {
		text, all := r.Tags.Short(shownBytes)
		if with, missing = text, text; !all {
			with, missing = text+" and others", text+",…"
		}
	}
	text := sanitize.Linef("%s may not %s"+NoRule+"%s", r.Who, r.Action.With(with), acl.Missing(r.Who, r.Action, missing))
	if r.Rule != "" {
		text += sanitize.Linef("; %s", r.Rule)
	}
	if r.Times > 1 {
		text += fmt.Sprintf(" (%d times)", r.Times)
	}
	return text
}

// Outside returns the refusal as the peer is told it: it shows nothing of the policy.
func (r Refusal) Outside() Refusal { return Refusal{Who: r.Who, Action: r.Action, Tags: r.Tags} }

// told is what a Door has told.
type told struct {
	total atomic.Uint64
	again backoff.Reminders[refusalKey] // bounded: a peer chooses the tags for which it asks
}

// refusalKey says what is counted together.
type refusalKey struct {
	peer   identity.Principal // at the other end
	who    identity.Principal // that may not do it: the peer, or this process
	action acl.Action
}

// Told returns how many refusals there were. Threads: any.
func (d *Door) Told() uint64 { return d.told.total.Load() }

// Tell counts a refusal, and reports whether it is to be told now: each is told once, and again
// from time to time, with how often it came.
//
//   - peer: at the other end; nil without Access.
//   - told: with the rule that is nearest.
func (d *Door) Tell(r Refusal, peer *identity.Peer) (told Refusal, due bool) {
	d.told.total.Add(1)
	key := refusalKey{who: r.Who, action: r.Action}
	if peer != nil {
		key.peer = peer.Principal
	}
	times, due := d.told.again.Due(time.Now(), key, r.Outside().String())
	if !due {
		return told, false
	}
	told = d.explained(r)
	told.Times = times
	return told, true
}
