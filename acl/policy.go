// SPDX-License-Identifier: Apache-2.0

package acl

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"tagbus/identity"
	"tagbus/tags"
)

// Bounds of what a policy keeps of peers that have asked. Beyond them it forgets all of them, and
// computes again what is asked for.
const (
	maxPeers       = 4096    // principals
	maxCachedParts = 2 << 20 // ranges and patterns of their sets
)

// rule lets some peers do something.
type rule struct {
	number int // from 1
	who    pattern
	tags   [actions]tags.Set
}

// Policy says which peer may do what with which tags. It is made by Parse and never changes. The
// zero value allows nothing.
//
// Threads: all methods may be called by any goroutine. Blocks: never for longer than a look into
// a map.
type Policy struct {
	rules []rule

	// By action, for all rules together, so that the set of some of them is made in one go.
	spans [actions][]span      // by their first tag
	masks [actions][]ruleMasks // by rule

	mu    sync.Mutex // of what follows
	peers map[identity.Principal]*grant
	rows  map[string]*grant // by the rules that apply
	parts int               // of all sets that are kept, at least
}

// span is a range of tags of a rule.
type span struct {
	lo, hi tags.Tag
	rule   int // its index
}

// ruleMasks are the patterns of tags of a rule.
type ruleMasks struct {
	rule int // its index
	set  tags.Set
}

// grant is what peers may do to which the same rules apply.
type grant struct {
	row  string // a bit for each rule, by its index
	sets [actions]atomic.Pointer[tags.Set]
}

// applies reports whether a rule does, by its index.
func (g *grant) applies(rule int) bool { return g.row[rule/8]>>(rule%8)&1 == 1 }

// prepare sorts the tags of all rules, once the policy is whole.
func (p *Policy) prepare() {
	for a := range actions {
		for i := range p.rules {
			set := p.rules[i].tags[a]
			for lo, hi := range set.Ranges() {
				p.spans[a] = append(p.spans[a], span{lo, hi, i})
			}
			var masks []tags.Set
			for value, mask := range set.Masks() {
				masks = append(masks, tags.Match(value, mask))
			}
			if len(masks) > 0 {
				p.masks[a] = append(p.masks[a], ruleMasks{i, tags.Union(masks...)})
			}
		}
		slices.SortFunc(p.spans[a], func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	}
}

// Rules returns how many rules there are.
func (p *Policy) Rules() int { return len(p.rules) }

// Allowed returns the tags with which a peer may do something.
//
//   - Errors: none; an action that does not exist is allowed with no tag.
func (p *Policy) Allowed(who identity.Principal, a Action) tags.Set {
	if a >= actions {
		return tags.Set{}
	}
	g := p.grantOf(who)
	if set := g.sets[a].Load(); set != nil {
		return *set
	}
	set := p.union(g, a)
	p.mu.Lock()
	if p.parts += set.Parts(); p.parts > maxCachedParts {
		p.forget()
	}
	p.mu.Unlock()
	g.sets[a].Store(&set)
	return set
}

// forget forgets what was computed for peers. mu is held.
func (p *Policy) forget() {
	clear(p.peers)
	clear(p.rows)
	p.parts = 0
}

// grantOf returns what a peer may do.
func (p *Policy) grantOf(who identity.Principal) *grant {
	p.mu.Lock()
	g := p.peers[who]
	p.mu.Unlock()
	if g != nil {
		return g
	}
	row := make([]byte, (len(p.rules)+7)/8)
	names := who.Names()
	for i := range p.rules {
		if p.rules[i].who.matches(who, names) {
			row[i/8] |= 1 << (i % 8)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.peers) >= maxPeers {
		p.forget()
	}
	if g = p.rows[string(row)]; g == nil {
		g = &grant{row: string(row)}
	}
	if p.peers == nil {
		p.peers, p.rows = make(map[identity.Principal]*grant), make(map[string]*grant)
	}
	p.peers[who], p.rows[g.row] = g, g
	return g
}

// union returns the tags of an action of all rules that apply.
func (p *Policy) union(g *grant, a Action) tags.Set {
	n := 0
	for i := range p.rules {
		if g.applies(i) {
			n += p.rules[i].tags[a].Parts()
		}
	}
	set, err := tags.OfRanges(n, func(yield func(lo, hi tags.Tag) bool) {
		for _, s := range p.spans[a] {
			if g.applies(s.rule) && !yield(s.lo, s.hi) {
				return
			}
		}
	})
	if err != nil { // ranges of sets end behind their beginning
		return tags.Set{}
	}
	var masks []tags.Set
	for _, m := range p.masks[a] {
		if g.applies(m.rule) {
			masks = append(masks, m.set)
		}
	}
	if len(masks) == 0 {
		return set
	}
	return tags.Union(append(masks, set)...)
}

// Split divides tags into those with which a peer may do something, and the others.
//
// Sets whose difference would take too long to find (tags.ErrTooComplex) are refused as a whole.
func (p *Policy) Split(who identity.Principal, a Action, asked tags.Set) (may, mayNot tags.Set) {
	allowed := p.Allowed(who, a)
	mayNot, err := asked.Without(allowed)
	if err != nil {
		return tags.Set{}, asked
	}
	if mayNot.IsEmpty() {
		return asked, mayNot
	}
	if may, err = asked.Intersection(allowed); err != nil {
		return tags.Set{}, asked
	}
	return may, mayNot
}
