// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"regexp"
	"slices"

	"tagbus/bus/state"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// Limit removes from a state the tags that are not in a set.
func Limit(s *state.State, may tags.Set) {
	if may.Equal(tags.Everything()) {
		return // also of a text that is cut
	}
	denied := func(tag state.Tag) bool { return !may.Contains(tag.Tag) }
	s.Busiest, s.Asked = slices.DeleteFunc(s.Busiest, denied), slices.DeleteFunc(s.Asked, denied)
	s.Tags = common(s.Tags, may)
	for _, peers := range [][]state.Peer{s.Peers, s.Gone} {
		for i := range peers {
			limitPeer(&peers[i], may)
		}
	}
}

// limitPeer is Limit for a peer.
func limitPeer(p *state.Peer, may tags.Set) {
	p.Denied = common(p.Denied, may)
	p.Reason, p.BrokenReason = without(p.Reason, may), without(p.BrokenReason, may)
	p.LostTags = slices.DeleteFunc(p.LostTags, func(t state.LostTag) bool { return !may.Contains(t.Tag) })
	for i := range p.Lanes {
		lane := &p.Lanes[i]
		lane.Wanted = slices.DeleteFunc(lane.Wanted, func(t tags.Tag) bool { return !may.Contains(t) })
	}
}

// common returns the text of the tags of a text that are in a set; "" if it is cut, or this is too complex
// to find out.
func common(text string, may tags.Set) string {
	has, err := tags.ParseSet(text)
	if err != nil {
		return ""
	}
	both, err := has.Intersection(may)
	if err != nil {
		return ""
	}
	return both.String()
}

// named are the sets that a reason names, also one that is cut: as tags.Set writes them.
var named = func() *regexp.Regexp {
	const item = `(?:0x[0-9a-f]*(?:[-&]0x[0-9a-f]*)?|[0-9*]+(?:/[0-9*]+){2,})`
	return regexp.MustCompile(item + `(?:,` + item + `)*`)
}()

// without returns why a connection has ended without the sets that are not all in a set: the refusal
// of a policy, for example, says with which tags.
func without(reason string, may tags.Set) string {
	shown := named.ReplaceAllStringFunc(reason, func(text string) string {
		if contains(may, text) {
			return text
		}
		return "(not shown)"
	})
	return sanitize.Cut(shown, state.MaxReason)
}

// contains reports whether a set has all tags of a text, which is whole.
func contains(may tags.Set, text string) bool {
	set, err := tags.ParseSet(text)
	if err != nil || set.String() != text {
		return false
	}
	rest, err := set.Without(may)
	return err == nil && rest.IsEmpty()
}
