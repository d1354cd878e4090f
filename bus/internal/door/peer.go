// SPDX-License-Identifier: Apache-2.0

package door

import (
	"errors"

	"tagbus/acl"
	"tagbus/identity"
	"tagbus/tags"
)

// Peer is a peer that has entered, and what it may do. The zero value is one without Access,
// which may do everything.
type Peer struct {
	door   *Door
	who    *identity.Peer
	action acl.Action
	rights tags.Set // with which it may do that
}

// Identity returns which peer it is; nil: there is no Access.
func (p *Peer) Identity() *identity.Peer { return p.who }

// Rights returns the tags that the peer may have. They change in Again and Review only: of
// those it was told.
func (p *Peer) Rights() tags.Set { return p.rights }

// allow takes over what the peer may do now.
//
// Errors: a refusal.
func (p *Peer) allow() error {
	if p.rights = p.door.Allowed(p.who, p.action); p.rights.IsEmpty() {
		return p.door.Refuse(Refusal{Who: p.who.Principal, Action: p.action})
	}
	return nil
}

// Again is Enter for a peer that has waited: the policy may have changed meanwhile.
//
// Errors: those of Door.Expired; a refusal.
func (p *Peer) Again() error {
	if p.who == nil {
		return nil
	}
	return errors.Join(p.door.Expired(p.who), p.allow())
}

// Review takes over what the peer may do after a change of the policy.
//
//   - before: what it had the right to have until now.
//   - Errors: those of Door.Expired.
func (p *Peer) Review() (before tags.Set, err error) {
	if err = p.door.Expired(p.who); err != nil {
		return before, err
	}
	before, p.rights = p.rights, p.door.Allowed(p.who, p.action)
	return before, nil
}

// Lacks returns why the peer may not have all tags of a set, or nil. The rights of which it
// was told last decide: with others it would not learn when it may ask again.
//
// Errors: a refusal.
func (p *Peer) Lacks(set tags.Set) error {
	if p.who == nil {
		return nil
	}
	if mayNot := rest(set, p.rights); !mayNot.IsEmpty() {
		return p.Refusal(mayNot)
	}
	return nil
}

// Refusal returns the error of a peer that may not have tags.
func (p *Peer) Refusal(set tags.Set) error {
	return p.door.Refuse(Refusal{Who: p.who.Principal, Action: p.action, Tags: set})
}

// Refuses is Door.Refuses for what the peer does.
func (p *Peer) Refuses(asked, served tags.Set) error {
	if p.who == nil {
		return nil
	}
	return p.door.Refuses(p.who, p.action, asked, served)
}

// Whole returns why the peer may not have all that it has announced, or nil.
//
// Errors: a refusal, with the rule that is nearest.
func (p *Peer) Whole(announced tags.Set) error {
	if p.who == nil {
		return nil
	}
	if r := p.door.refuses(p.who.Principal, p.action, announced, announced); r != nil {
		return p.door.Refuse(p.door.explained(*r))
	}
	return nil
}

// Kept returns some tags of sets that a peer has and may have no more.
//
//   - before, now: what it had the right to have, and has.
func Kept(sets []tags.Set, before, now tags.Set) tags.Set {
	lost := rest(before, now)
	if lost.IsEmpty() {
		return lost
	}
	for _, set := range sets {
		if both, err := set.Intersection(lost); err != nil {
			return lost
		} else if !both.IsEmpty() {
			return both
		}
	}
	return tags.Set{}
}

// rest returns a set without others, or all of it if that is too complex to find out.
func rest(set, others tags.Set) tags.Set {
	left, err := set.Without(others)
	if err != nil {
		return set
	}
	return left
}

// Screening takes from what a peer asks for what it may not have. A subscriber of this version
// asks for nothing that it may not have, unless its rights have just changed.
type Screening[W any] struct {
	Peer   *Peer
	Set    func(*W) tags.Set
	Refuse func(w *W, why error)

	Left []W // to be looked at
	Pass []W // what the peer may have
}

// Costs of a Screening, in steps.
const (
	partsPerStep    = 16 // ranges that are compared in the time of a step
	stepsPerRefusal = 64
)

// Run is a workqueue.Job: it looks at some of what is left.
func (s *Screening[W]) Run(budget int) (steps int, done bool) {
	if s.Peer.who == nil {
		s.Pass, s.Left = s.Left, nil
		return 0, true
	}
	for len(s.Left) > 0 && steps < budget {
		w := s.Left[0]
		s.Left = s.Left[1:]
		set := s.Set(&w)
		parts := set.Parts()
		steps += 1 + (parts+min(s.Peer.rights.Parts(), 16*parts))/partsPerStep // a short set is searched for in a long one
		if why := s.Peer.Lacks(set); why != nil {
			steps += stepsPerRefusal
			s.Refuse(&w, why)
			continue
		}
		s.Pass = append(s.Pass, w)
	}
	return steps, len(s.Left) == 0
}
