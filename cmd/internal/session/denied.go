// SPDX-License-Identifier: Apache-2.0

package session

import (
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tagbus/bus"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/units"
	"tagbus/identity"
	"tagbus/internal/sanitize"
	"tagbus/node"
	"tagbus/tags"
)

const (
	// maxDenied is how many publishers that deny something are followed. Of more each refusal
	// counts, whatever they grant later.
	maxDenied = 4096

	// maxDeniedParts is how many ranges and patterns are followed of what each denies.
	maxDeniedParts = 64

	// maxDenials is how many of them are named.
	maxDenials = 3

	// shownBytes and shownReason are how much is shown of the tags and of the reason.
	shownBytes, shownReason = 100, 400
)

// Denied reports whether an error is that of a program that does not let this one in, or that
// this one does not let in: a policy, a certificate, or TLS at one end alone. One that is gone,
// or another program at its address, denies nothing.
func Denied(err error) bool {
	backend, certificate, chain := (*bus.BackendError)(nil), (*tls.CertificateVerificationError)(nil), (*identity.ChainError)(nil)
	return errors.Is(err, bus.ErrNotAllowed) || errors.Is(err, node.ErrCertificateRefused) ||
		errors.As(err, &backend) || errors.As(err, &certificate) || errors.As(err, &chain)
}

// denial is what a publisher does not let this side have, or this side does not take of it.
type denial struct {
	peer   string
	all    bool     // the connection, until a subscription is acknowledged
	tags   tags.Set // until they are acknowledged
	reason string   // the last
	rule   bool     // which a policy has not
}

// denials are those of all publishers.
type denials struct {
	of   map[string]*denial // by instance
	more uint64             // refusals beyond maxDenied
}

// see takes a Refused event.
//
//   - wanted: the tags that matter; empty: all.
func (d *denials) see(e bus.Event, wanted tags.Set) {
	if !Denied(e.Err) {
		return
	}
	set := e.Tags
	if both, err := set.Intersection(wanted); err == nil && !set.IsEmpty() && !wanted.IsEmpty() {
		if set = both; set.IsEmpty() {
			return // it has announced more than is wanted
		}
	}
	of := d.of[e.Peer.Instance]
	if of == nil {
		if of = new(denial); !d.add(e.Peer.Instance, of) {
			return
		}
	}
	of.peer, of.reason, of.rule = e.Peer.String(), reasonOf(e.Err), errors.Is(e.Err, bus.ErrNotAllowed)
	of.all = of.all || set.IsEmpty()
	of.tags = first(of.tags.Union(set), maxDeniedParts)
}

// add follows another publisher, unless there are too many.
func (d *denials) add(instance string, of *denial) bool {
	if len(d.of) >= maxDenied {
		d.more++
		return false
	}
	if d.of == nil {
		d.of = make(map[string]*denial)
	}
	d.of[instance] = of
	return true
}

// granted takes the tags of a subscription that a publisher has acknowledged.
func (d *denials) granted(instance string, set tags.Set) {
	of := d.of[instance]
	if of == nil {
		return
	}
	of.all = false
	if rest, err := of.tags.Without(set); err == nil {
		of.tags = rest
	}
	if of.tags.IsEmpty() {
		delete(d.of, instance)
	}
}

// first returns the first ranges and patterns of a set, as many as most.
func first(set tags.Set, most int) tags.Set {
	if set.Parts() <= most {
		return set
	}
	var parts []tags.Set
	for lo, hi := range set.Ranges() {
		if one, err := tags.Range(lo, hi); err == nil {
			parts = append(parts, one)
		}
		if len(parts) == most {
			break
		}
	}
	for value, mask := range set.Masks() {
		if len(parts) == most {
			break
		}
		parts = append(parts, tags.Match(value, mask))
	}
	return tags.Union(parts...)
}

// reasonOf returns an error as it is shown.
func reasonOf(err error) string { return sanitize.Cut(cli.Text(err), shownReason) }

// String names the publisher, what it denies, and why.
func (d *denial) String() string {
	text := d.peer
	if !d.all {
		shown, all := d.tags.Short(shownBytes)
		if text += " tags " + shown; !all {
			text += " and others"
		}
	}
	return text + ": " + d.reason
}

// Refused returns how many publishers deny something that is wanted of them: their policy or
// the own one, or a certificate. Behind Settle, those that could not be reached count too.
func (p *Presence) Refused() uint64 { return uint64(len(p.denials.of)) + p.denials.more }

// Refusal returns an error that names the publishers that deny something, and what to do, or
// nil.
//
//   - role: what they are: "publisher".
func (p *Presence) Refusal(role string) error {
	if p.Refused() == 0 {
		return nil
	}
	var names []string
	rules := false
	for _, d := range p.denials.of {
		names = append(names, d.String())
		rules = rules || d.rule
	}
	slices.Sort(names)
	names = names[:min(len(names), maxDenials)]
	text := fmt.Sprintf("%s refused: %s", units.FormatNumber(p.Refused(), role), strings.Join(names, "; "))
	if more := p.Refused() - uint64(len(names)); more > 0 {
		text += fmt.Sprintf("; and %s", units.FormatNumber(more, "other"))
	}
	if rules {
		text += ": add the rule to the policy, or ask only for what it allows"
	}
	return errors.New(text)
}
