// SPDX-License-Identifier: Apache-2.0

package acl

import (
	"encoding/json"
	"fmt"
	"math"

	"tagbus/identity"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// Explanation says why a peer may do something with a tag, or may not. It is for the owner of the
// policy: it quotes rules that are about other peers.
type Explanation struct {
	Who    identity.Principal
	Action Action
	Tag    tags.Tag

	Allowed bool
	Rule    int    // number of the rule that allows it, or of the nearest one; 0 if none is near
	RuleWho string // who this rule is for
	Nearest string // what this rule says instead, if it does not allow it
}

// Explain returns the first rule that lets a peer do something with a tag, or the one that is nearest to
// letting it.
//
// Nearest is, in this order: a rule for this peer and this action, with the nearest tag; a rule
// for this peer with the tag and another action; a rule with action and tag for the peer whose
// name is most alike; any rule for this peer.
func (p *Policy) Explain(who identity.Principal, a Action, tag tags.Tag) Explanation {
	e := Explanation{Who: who, Action: a, Tag: tag}
	if a >= actions {
		return e
	}
	names := who.Names()
	most := uint64(0)
	for i := range p.rules {
		r := &p.rules[i]
		applies := r.who.matches(who, names)
		if applies && r.tags[a].Contains(tag) {
			return Explanation{Who: who, Action: a, Tag: tag, Allowed: true, Rule: r.number, RuleWho: r.who.text}
		}
		if likeness, says := r.near(a, tag, applies, names); likeness > most {
			most = likeness
			e.Rule, e.RuleWho, e.Nearest = r.number, r.who.text, says
		}
	}
	return e
}

// near returns how near a rule is that does not allow something, and what it says instead. 0 is
// not near.
func (r *rule) near(a Action, tag tags.Tag, applies bool, names []string) (likeness uint64, says string) {
	const class = 1 << 62 // above all distances within one
	switch {
	case applies && !r.tags[a].IsEmpty():
		text, all := r.tags[a].Short(100)
		if !all {
			text += ", …"
		}
		return 3*class - min(distance(r.tags[a], tag), class-1), "lets it " + a.With(text)
	case applies:
		for _, other := range Actions() {
			if r.tags[other].Contains(tag) {
				return 2 * class, "lets it " + other.With("the tag") + ", and not " + a.With("it")
			}
		}
		return 1, "is for it, and does not let it " + a.With("any tag")
	case r.tags[a].Contains(tag):
		return class + uint64(r.who.near(names)), "would, and is not for it"
	}
	return 0, ""
}

// distance returns how far a tag is from the nearest range of a set.
func distance(s tags.Set, tag tags.Tag) uint64 {
	nearest := uint64(math.MaxUint64)
	for lo, hi := range s.Ranges() {
		switch {
		case tag < lo:
			return min(nearest, uint64(lo-tag)) // others are further
		case tag > hi:
			nearest = uint64(tag - hi)
		default:
			return 0
		}
	}
	return nearest
}

// With returns what an action does with tags, in words, such as "subscribe to 0x1000".
func (a Action) With(what string) string {
	switch a {
	case Subscribe:
		return "subscribe to " + what
	case Describe:
		return "ask for the state of " + what
	default:
		return a.String() + " " + what
	}
}

// String returns the explanation as a line.
func (e Explanation) String() string {
	does := sanitize.Text(e.Who.String()) + " " + e.Action.With(e.Tag.String())
	if e.Allowed {
		return fmt.Sprintf("rule %d (%s) lets %s", e.Rule, sanitize.Text(e.RuleWho), does)
	}
	return "no rule lets " + does + ": " + e.Near() + "; add " + e.Missing()
}

// Near returns which rule is nearest, of one that is not allowed. It is for the owner of the
// policy.
func (e Explanation) Near() string {
	if e.Rule == 0 {
		return "no rule is near"
	}
	return fmt.Sprintf("nearest is rule %d (%s), which %s", e.Rule, sanitize.Text(e.RuleWho), e.Nearest)
}

// Missing returns the rule that would allow it, and no more, as it would stand in a policy.
func (e Explanation) Missing() string { return Missing(e.Who, e.Action, e.Tag.String()) }

// Missing returns the rule that would let a peer do something with tags, and no more, as it
// would stand in a policy. It shows nothing of the rules that there are.
//
//   - what: the tags as a text.
func Missing(who identity.Principal, a Action, what string) string {
	name, err := json.Marshal(sanitize.Cut(who.Names()[0], MaxPatternBytes))
	if err != nil { // names are texts
		return ""
	}
	return fmt.Sprintf(`{"who":%s,"%s":"%s"}`, name, a, what)
}
