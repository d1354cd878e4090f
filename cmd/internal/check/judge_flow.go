// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/units"
	"tagbus/internal/plain"
)

// judgeFlow says where messages do not flow, from two answers of each instance.
func judgeFlow(s *seen) []Finding {
	f := &findings{group: "flow"}
	told := 0
	for _, e := range s.living() {
		now := e.state()
		if now == nil {
			continue
		}
		told++
		f.stalls(e, now)
		f.quiet(e, now)
		f.goners(e, now)
		if sending := now.Sending; sending != nil {
			f.pool(e, sending)
		}
		if before := e.first.state; before != nil && e.second.state != nil && before.Instance == now.Instance {
			f.growth(e, before, now)
		}
	}
	if told > 0 {
		f.ok(s.bus, "no program stalls, and nothing was lost while this command looked")
	}
	return f.sorted()
}

// nearlyFull is the share of its limit that a queue holds when no further page fits.
const nearlyFull = 0.95

// stalls says which peers take nothing, or not enough.
func (f *findings) stalls(e *entrySeen, now *state.State) {
	const slow = "look at its processor, its output and the network; publisher --max-stall ends the wait, subscriber --policy latest avoids it"
	still := standing(e.first.state, e.second.state)
	stalled := func(p *state.Peer) bool { return !p.StalledSince.IsZero() || still[p.Instance] }
	n := 0
	for i := range now.Peers {
		if stalled(&now.Peers[i]) {
			n++
		}
	}
	if n = max(n, now.Stalled); n > 0 {
		f.of(&e.Entry, Warning, "peer-stalled", slow,
			"%s nothing%s: its tags are not published if the policy is block, and messages are lost otherwise", count(n, "peer takes", "peers take"), named(now.Peers, n, stalled))
	} else if now.Fullest >= nearlyFull {
		names := named(now.Peers, 1, func(p *state.Peer) bool { return p.QueueLimit > 0 && fullest(p) >= nearlyFull })
		f.of(&e.Entry, Note, "queue-full", slow+"; or give it a larger --backlog",
			"a queue is at its limit%s: this peer is slower than what is published for it, which is no fault if that is as fast as it can be", names)
	}
	if now.Silent > 0 {
		last := ""
		if len(now.Gone) > 0 {
			last = "; the last peer that went: " + peerName(&now.Gone[0])
		}
		f.of(&e.Entry, Note, "silent-peers", "if a program is missing, look whether it is stopped or its host is cut off",
			"%s since it began because nothing was heard%s", count(int(now.Silent), "connection was closed", "connections were closed"), last)
	}
}

// goners says which peers went without goodbye lately and have not come back.
func (f *findings) goners(e *entrySeen, now *state.State) {
	const do = "look whether it is killed, stopped or cut off, and start it again"
	l := Warning
	if now.Connected > len(now.Peers) {
		l = Note // it may be one of those that the answer does not name
	}
	for _, p := range overview.Missing(now) {
		f.of(&e.Entry, l, "peer-gone", do, "%s went without goodbye %s and has not come back: %s",
			peerName(p), units.FormatAgo(now.Time, p.Ended), cli.Words(p.Reason))
	}
}

// unheard is longer than a peer is silent between its heartbeats, unless it was told to be.
const unheard = 2500 * time.Millisecond

// quiet says of which peers nothing was heard when the instance answered last.
func (f *findings) quiet(e *entrySeen, now *state.State) {
	is := func(p *state.Peer) bool { return !p.Heard.IsZero() && now.Time.Sub(p.Heard) > unheard }
	n, longest := 0, time.Duration(0)
	for i := range now.Peers {
		if p := &now.Peers[i]; is(p) {
			n, longest = n+1, max(longest, now.Time.Sub(p.Heard))
		}
	}
	if n > 0 {
		f.of(&e.Entry, Note, "peer-quiet", "look whether it is stopped or cut off; it is no fault if its --heartbeat is longer, or 0",
			"nothing was heard of %s for up to %s%s", count(n, "peer", "peers"), units.FormatDuration(longest), named(now.Peers, n, is))
	}
}

// standing returns the peers that took nothing from one answer to the next although
// messages wait for them.
func standing(before, now *state.State) map[string]bool {
	still := make(map[string]bool)
	if before == nil || now == nil {
		return still
	}
	had := make(map[string]state.Peer, len(before.Peers))
	for _, p := range before.Peers {
		had[p.Instance] = p
	}
	for _, p := range now.Peers {
		old, known := had[p.Instance]
		if known && old.Since.Equal(p.Since) && old.Queued > 0 && p.Queued > 0 && old.Pages == p.Pages {
			still[p.Instance] = true
		}
	}
	return still
}

// fullest returns the largest share of its limit that a queue of a peer holds.
func fullest(p *state.Peer) float64 {
	share := 0.0
	for _, l := range p.Lanes {
		if l.QueueLimit > 0 {
			share = max(share, float64(l.Queued)/float64(l.QueueLimit))
		}
	}
	if len(p.Lanes) == 0 {
		share = float64(p.Queued) / float64(p.QueueLimit)
	}
	return share
}

// named returns ": " and the names of some peers, or nothing if none is known.
func named(peers []state.Peer, all int, which func(*state.Peer) bool) string {
	var names []string
	for i := range peers {
		if p := &peers[i]; len(names) < maxNamed && which(p) {
			names = append(names, peerName(p))
		}
	}
	if len(names) == 0 {
		return ""
	}
	if rest := all - len(names); rest > 0 {
		names = append(names, fmt.Sprintf("%d more", rest))
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// peerName names a peer as operators know it.
func peerName(p *state.Peer) string {
	name := plain.Text(cmp.Or(p.Name, p.Instance))
	if p.Host != "" {
		name += " on " + plain.Text(p.Host)
	}
	return name
}

// pool judges whether memory for pages is there.
func (f *findings) pool(e *entrySeen, s *state.Sending) {
	const do = "raise --pool-bytes, or lower --queue-bytes, so that slow subscribers hold less"
	switch {
	case s.PoolPages == 0:
	case s.PoolFreePages == 0:
		f.of(&e.Entry, Warning, "pool-empty", do, "none of its %d pages is free: nothing can be published", s.PoolPages)
	case s.PoolMinFreePages == 0:
		f.of(&e.Entry, Note, "pool-was-empty", do, "none of its %d pages was free at a time within the last two minutes: publishing waited", s.PoolPages)
	}
}

// advice is what to do about losses of a cause: docs/operations.md, "What was lost?".
var advice = map[state.Cause]string{
	state.Full:       "make the subscriber faster, give it a larger --backlog, or accept it",
	state.Memory:     "raise --pool-bytes of the publisher",
	state.Connection: "look at the network, and whether a side was killed or stopped",
	state.Ended:      "report it: this is an error of the bus",
	state.Overflow:   "make the program read faster, or raise its --queue-bytes",
}

// growth says what grew from one answer to the next.
func (f *findings) growth(e *entrySeen, before, now *state.State) {
	lost := make(map[state.Cause]uint64)
	for _, l := range before.Losses {
		lost[l.Cause] = l.Messages
	}
	for _, l := range now.Losses {
		if l.Messages > lost[l.Cause] {
			f.of(&e.Entry, Warning, "losing", advice[l.Cause],
				"%s lost while this command looked, for the cause %s%s", count(int(l.Messages-lost[l.Cause]), "message was", "messages were"), l.Cause, losers(before, now, l.Cause))
		}
	}
	if now.Broken > before.Broken {
		f.of(&e.Entry, Warning, "connections-break", "look at the lost lines of both sides, and at the network",
			"%s while this command looked", count(int(now.Broken-before.Broken), "connection broke", "connections broke"))
	}
	if b, n := before.Sending, now.Sending; b != nil && n != nil {
		if n.Refusals > b.Refusals {
			f.of(&e.Entry, Note, "refusing", "this is no fault of one that publishes as fast as it can; behind a detector, find the slow subscriber by tagbus top",
				"%s for a message while this command looked: it is held up by its slowest subscriber, or by --pool-bytes", count(int(n.Refusals-b.Refusals), "time there was no room", "times there was no room"))
		}
		if n.Unconfirmed > b.Unconfirmed {
			f.of(&e.Entry, Warning, "unconfirmed", "look at the lost lines of its subscribers: those that come back confirm what they have",
				"%s unconfirmed while this command looked: they were on their way when a connection ended", count(int(n.Unconfirmed-b.Unconfirmed), "message became", "messages became"))
		}
	}
}

// losers names the peers whose losses for a cause grew.
func losers(before, now *state.State, c state.Cause) string {
	old := make(map[string]uint64)
	for i := range before.Peers {
		old[before.Peers[i].Instance] = lostFor(&before.Peers[i], c)
	}
	var grown []state.Peer
	for i := range now.Peers {
		was, known := old[now.Peers[i].Instance]
		if known && lostFor(&now.Peers[i], c) > was {
			grown = append(grown, now.Peers[i])
		}
	}
	return named(grown, len(grown), func(*state.Peer) bool { return true })
}

func lostFor(p *state.Peer, c state.Cause) (n uint64) {
	for _, l := range p.Losses {
		if l.Cause == c {
			n += l.Messages
		}
	}
	return n
}
