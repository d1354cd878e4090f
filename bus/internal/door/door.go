// SPDX-License-Identifier: Apache-2.0

// Package door asks the policy of a program about its peers: which peer this is, what it may do
// here, and when it has to go. Both sides of a connection ask through a Door of their own.
package door

import (
	"crypto/x509"
	"time"

	"tagbus/acl"
	"tagbus/identity"
	"tagbus/internal/alarm"
	"tagbus/netio"
	"tagbus/tags"
)

// Access answers, as bus.Access says.
type Access interface {
	Self() identity.Principal
	Identify(shown []*x509.Certificate) (*identity.Peer, error)
	Check(peer *identity.Peer) error
	Split(who identity.Principal, action acl.Action, asked tags.Set) (may, mayNot tags.Set)
	Allowed(who identity.Principal, action acl.Action) tags.Set
	Explain(who identity.Principal, action acl.Action, tag tags.Tag) string
	Watch(changed func()) (stop func())
}

// Door is what one instance asks Access through. With a nil Access every peer may do everything.
//
// Threads: the loop, except Told, and of a Door that is not open.
type Door struct {
	Access Access

	// Refuse makes the error for a refusal.
	Refuse func(Refusal) error

	told told
	stop func() // of Watch

	alarms  *alarm.Clock // nil: it is not open
	expires alarm.Alarm  // at the first end of a certificate of a peer that was let in
	first   time.Time    // that end; zero: there is none
}

// Open begins to watch for changes of what is allowed. review is called on the loop then,
// and when the certificate of a peer ends.
func (d *Door) Open(post func(func()) bool, alarms *alarm.Clock, review func()) {
	if d.Access == nil {
		return
	}
	d.alarms, d.expires.F = alarms, func() {
		d.first = time.Time{}
		review()
	}
	d.stop = d.Access.Watch(func() { post(review) })
}

// Close ends that.
func (d *Door) Close() {
	if d.stop != nil {
		d.stop()
	}
}

// Asks reports whether there is Access.
func (d *Door) Asks() bool { return d.Access != nil }

// expect notes when the certificates of a peer end.
func (d *Door) expect(who *identity.Peer) {
	const most = 24 * time.Hour // clocks are set
	if d.alarms == nil {
		return
	}
	for _, c := range who.Chain {
		if end := c.NotAfter; d.first.IsZero() || end.Before(d.first) {
			d.first = end
			d.alarms.Set(&d.expires, min(max(time.Until(end)+time.Second, time.Second), most))
		}
	}
}

// Enter returns the peer of a connection, if it may do something of a kind here.
//
// Errors: those of Access.Identify; a refusal, beside the peer that it is about.
func (d *Door) Enter(ep netio.Endpoint, action acl.Action) (p Peer, err error) {
	if d.Access == nil {
		return p, nil
	}
	var shown []*x509.Certificate
	if known, ok := ep.(netio.Authenticated); ok {
		shown = known.PeerCertificates()
	}
	p.door, p.action = d, action
	if p.who, err = d.Access.Identify(shown); err != nil {
		return p, err
	}
	d.expect(p.who)
	return p, p.allow()
}

// Enters returns why a peer may not do anything of a kind here, or nil.
//
// Errors: a refusal.
func (d *Door) Enters(who *identity.Peer, action acl.Action) error {
	if d.Access == nil || !d.Allowed(who, action).IsEmpty() {
		return nil
	}
	return d.Refuse(Refusal{Who: who.Principal, Action: action})
}

// Allowed returns the tags with which a peer that Access has identified may do something.
func (d *Door) Allowed(who *identity.Peer, action acl.Action) tags.Set {
	return d.Access.Allowed(who.Principal, action)
}

// Refuses returns an error for those tags of a set with which a peer may not do something,
// or nil.
//
//   - served: what this side has: others are not named.
//   - Errors: a refusal.
func (d *Door) Refuses(who *identity.Peer, action acl.Action, asked, served tags.Set) error {
	if d.Access == nil {
		return nil
	}
	if r := d.refuses(who.Principal, action, asked, served); r != nil {
		return d.Refuse(*r)
	}
	return nil
}

func (d *Door) refuses(who identity.Principal, action acl.Action, asked, served tags.Set) *Refusal {
	_, mayNot := d.Access.Split(who, action, asked)
	if mayNot.IsEmpty() {
		return nil
	}
	named, err := mayNot.Intersection(served)
	if err != nil {
		named = mayNot
	}
	if named.IsEmpty() {
		return nil
	}
	return &Refusal{Who: who, Action: action, Tags: named}
}

// Own returns why this process may not do something with tags, or nil: its own policy would
// refuse it.
//
// Errors: a refusal, with the rule that is nearest.
func (d *Door) Own(action acl.Action, set tags.Set) error {
	if d.Access == nil {
		return nil
	}
	if r := d.refuses(d.Access.Self(), action, set, set); r != nil {
		return d.Refuse(d.explained(*r))
	}
	return nil
}

// explained returns a refusal with the rule that is nearest. This takes a look at all rules,
// so it is done for what is told, not for what a peer asks for.
//
//   - r: of a peer, or of this process; others say nothing of the policy here.
func (d *Door) explained(r Refusal) Refusal {
	if d.Access == nil || r.Rule != "" {
		return r
	}
	first := tags.Tag(0)
	for tag := range r.Tags.All() {
		first = tag
		break
	}
	if !d.Access.Allowed(r.Who, r.Action).Contains(first) { // otherwise the other side has another policy
		r.Rule = d.Access.Explain(r.Who, r.Action, first)
	}
	return r
}

// Name returns what this process is called.
func (d *Door) Name() identity.Principal {
	if d.Access == nil {
		return identity.Principal{}
	}
	return d.Access.Self()
}

// Expired returns why a peer that was let in has to go, or nil.
//
// Errors: those of Access.Check.
func (d *Door) Expired(who *identity.Peer) error {
	if d.Access == nil || who == nil {
		return nil
	}
	err := d.Access.Check(who)
	if err == nil {
		d.expect(who)
	}
	return err
}

// Signed reports whether a peer is the one that has signed an entry of the directory, as far as
// is known. Transports without certificates do not know their peers: over these an entry says
// where a signer listened, and the policy what anonymous peers may do.
//
//   - signer: the principal; empty: none has signed it.
func (d *Door) Signed(signer string, who *identity.Peer) bool {
	return d.Access == nil || signer == "" || who.Principal.IsAnonymous() || who.Principal.String() == signer
}

// Same reports whether two connections may be of one process, as far as is known.
func Same(a, b *identity.Peer) bool {
	return a == nil || b == nil || a.Principal == b.Principal
}
