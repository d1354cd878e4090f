// SPDX-License-Identifier: Apache-2.0

package bus

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"

	"tagbus/acl"
	"tagbus/identity"
	"tagbus/internal/alarm"
	"tagbus/internal/sanitize"
	"tagbus/netio"
	"tagbus/tags"
)

// Access decides which peer this is and what it may do. It is asked when a connection is
// ready, and when a peer subscribes, announces or asks for state, never per message.
// Without one every peer may do everything.
//
// Package access has one of certificates and a policy.
//
// Threads: any, for all methods. Blocks: never.
type Access interface {
	// Self returns what this process is called.
	Self() identity.Principal

	// Identify returns the peer of a connection.
	//
	//   - shown: the certificates by which the transport let it in
	//     (netio.Authenticated); none: the peer is anonymous.
	//   - Errors: why the peer does not count; the connection ends with it.
	Identify(shown []*x509.Certificate) (*identity.Peer, error)

	// Check returns why a peer that Identify has returned no longer counts, or nil.
	Check(peer *identity.Peer) error

	// Split divides tags into those with which a peer may do something, and the others.
	Split(who identity.Principal, action acl.Action, asked tags.Set) (may, mayNot tags.Set)

	// Allowed returns all tags with which a peer may do something.
	Allowed(who identity.Principal, action acl.Action) tags.Set

	// Explain returns a few words about the rule that is nearest to letting a peer do
	// something with a tag, for the owner of the policy; empty if there is none.
	Explain(who identity.Principal, action acl.Action, tag tags.Tag) string

	// Watch calls changed, on a goroutine of its own, each time the answers may have become
	// others, until stop, which returns when changed does not run.
	Watch(changed func()) (stop func())
}

// ErrNotAllowed is matched by every *AccessError, of this side or of a peer that tells it as
// the reason of a refusal.
var ErrNotAllowed = errors.New("bus: not allowed")

// AccessError says that no rule of the policy lets a peer do something with some tags.
type AccessError struct {
	Who    identity.Principal
	Action acl.Action
	Tags   tags.Set // with which; empty: with none of those that are here
	Rule   string   // the rule that is nearest, for this side only; may be empty
	Times  uint64   // how often it was refused since it was told last; 0: once
}

// noRule tells the text of an AccessError from others, when it comes as the reason of a
// refusal.
const noRule = ": no rule such as "

// shownBytes is how much of a set an error names.
const shownBytes = 200

// Error names the peer, the action, the tags, and the rule that is missing. Of the rules that
// there are it names that of Rule alone.
func (e *AccessError) Error() string {
	with, missing := "anything here", "TAGS"
	if !e.Tags.IsEmpty() {
		text, all := e.Tags.Short(shownBytes)
		if with, missing = text, text; !all {
			with, missing = text+" and others", text+",…"
		}
	}
	text := sanitize.Linef("%s may not %s"+noRule+"%s", e.Who, e.Action.With(with), acl.Missing(e.Who, e.Action, missing))
	if e.Rule != "" {
		text += sanitize.Linef("; %s", e.Rule)
	}
	if e.Times > 1 {
		text += fmt.Sprintf(" (%d times)", e.Times)
	}
	return text
}

// Is reports whether target is ErrNotAllowed.
func (*AccessError) Is(target error) bool { return target == ErrNotAllowed }

// errTakenInstance is told to a peer that says the instance of another one, whose place it
// would take.
var errTakenInstance = fmt.Errorf("%w: another peer has this instance", ErrProtocol)

// samePeer reports whether two connections may be of one process, as far as is known.
func samePeer(a, b *identity.Peer) bool {
	return a == nil || b == nil || a.Principal == b.Principal
}

// outside returns the error as the peer is told it: it shows nothing of the policy.
func (e *AccessError) outside() error {
	return &AccessError{Who: e.Who, Action: e.Action, Tags: e.Tags}
}

// outsideOf returns what a peer is told of a refusal.
func outsideOf(err error) error {
	if refused := (*AccessError)(nil); errors.As(err, &refused) {
		return refused.outside()
	}
	return err
}

// door is what both sides ask Access through. Its zero value lets every peer do everything.
type door struct {
	access Access
	stop   func() // of Watch

	// Loop only.
	alarms  *alarm.Clock
	expires alarm.Alarm // at the first end of a certificate of a peer that was let in
	first   time.Time   // that end; zero: there is none
}

// open begins to watch for changes of what is allowed. review is called on the loop then,
// and when the certificate of a peer ends.
func (d *door) open(access Access, post func(func()) bool, alarms *alarm.Clock, review func()) {
	if d.access = access; access == nil {
		return
	}
	d.alarms, d.expires.F = alarms, func() {
		d.first = time.Time{}
		review()
	}
	d.stop = access.Watch(func() { post(review) })
}

// expect notes when the certificates of a peer end. Loop only.
func (d *door) expect(who *identity.Peer) {
	const most = 24 * time.Hour // clocks are set
	for _, c := range who.Chain {
		if end := c.NotAfter; d.first.IsZero() || end.Before(d.first) {
			d.first = end
			d.alarms.Set(&d.expires, min(max(time.Until(end)+time.Second, time.Second), most))
		}
	}
}

// close ends that.
func (d *door) close() {
	if d.stop != nil {
		d.stop()
	}
}

// identify returns which peer a connection is from; nil if there is no Access.
//
// Errors: those of Access.Identify.
func (d *door) identify(ep netio.Endpoint) (*identity.Peer, error) {
	if d.access == nil {
		return nil, nil
	}
	var shown []*x509.Certificate
	if known, ok := ep.(netio.Authenticated); ok {
		shown = known.PeerCertificates()
	}
	who, err := d.access.Identify(shown)
	if err == nil {
		d.expect(who)
	}
	return who, err
}

// enters returns why a peer may not do anything of a kind here, or nil.
//
// Errors: *AccessError.
func (d *door) enters(who *identity.Peer, action acl.Action) error {
	if d.access == nil || !d.access.Allowed(who.Principal, action).IsEmpty() {
		return nil
	}
	return &AccessError{Who: who.Principal, Action: action}
}

// refuses returns an error for those tags of a set with which a peer may not do something,
// or nil.
//
//   - served: what this side has: others are not named.
func (d *door) refuses(who *identity.Peer, action acl.Action, asked, served tags.Set) *AccessError {
	if d.access == nil {
		return nil
	}
	_, mayNot := d.access.Split(who.Principal, action, asked)
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
	return &AccessError{Who: who.Principal, Action: action, Tags: named}
}

// explained returns a refusal with the rule that is nearest. This takes a look at all rules,
// so it is done for what is told, not for what a peer asks for.
//
//   - refused: of a peer, or of this process; others say nothing of the policy here.
func (d *door) explained(refused *AccessError) *AccessError {
	if d.access == nil || refused.Rule != "" {
		return refused
	}
	with := *refused
	first := tags.Tag(0)
	for tag := range refused.Tags.All() {
		first = tag
		break
	}
	if d.access.Allowed(refused.Who, refused.Action).Contains(first) {
		return refused // the other side has another policy
	}
	with.Rule = d.access.Explain(refused.Who, refused.Action, first)
	return &with
}

// name returns what this process is called.
func (d *door) name() identity.Principal {
	if d.access == nil {
		return identity.Principal{}
	}
	return d.access.Self()
}

// expired returns why a peer that was let in has to go, or nil.
func (d *door) expired(who *identity.Peer) error {
	if d.access == nil || who == nil {
		return nil
	}
	err := d.access.Check(who)
	if err == nil && d.alarms != nil {
		d.expect(who)
	}
	return err
}

// self returns why this process may not do something with tags, or nil: its own policy
// would refuse it.
//
// Errors: *AccessError.
func self(access Access, action acl.Action, set tags.Set) error {
	if access == nil {
		return nil
	}
	d := door{access: access}
	if refused := d.refuses(&identity.Peer{Principal: access.Self()}, action, set, set); refused != nil {
		return d.explained(refused)
	}
	return nil
}
