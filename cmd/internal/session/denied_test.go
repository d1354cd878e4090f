// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"tagbus/acl"
	"tagbus/bus"
	"tagbus/cmd/internal/session"
	"tagbus/identity"
	"tagbus/node"
	"tagbus/tags"
)

// noRule is the refusal of a policy.
func noRule(set tags.Set) error { return &bus.AccessError{Action: acl.Subscribe, Tags: set} }

func TestWhatIsADenial(t *testing.T) {
	for _, test := range []struct {
		name string
		err  error
		want bool
	}{
		{"nothing", nil, false},
		{"a process that is gone", errors.New("connection refused"), false},
		{"another process at its address", fmt.Errorf("%w: x", bus.ErrStaleEntry), false},
		{"no room", bus.ErrTooManySenders, false},
		{"a policy", noRule(tags.Of(1)), true},
		{"a policy, at one of two addresses", errors.Join(errors.New("connection refused"), noRule(tags.Set{})), true},
		{"another backend", &bus.BackendError{Theirs: "tls", Ours: "tcp"}, true},
		{"a certificate of another CA", &tls.CertificateVerificationError{}, true},
		{"a certificate that is over", &identity.ChainError{Err: identity.ErrExpired}, true},
		{"the own certificate", fmt.Errorf("%w: %w", node.ErrHandshake, node.ErrCertificateRefused), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := session.Denied(test.err); got != test.want {
				t.Errorf("got %v for %v, want %v", got, test.err, test.want)
			}
		})
	}
}

func TestDenialsStandUntilTheyAreGranted(t *testing.T) {
	peer := func(name string) *bus.Peer { return &bus.Peer{Instance: name, Name: name, Host: "pc"} }
	event := func(kind bus.EventKind, name string, list ...tags.Tag) bus.Event {
		return bus.Event{Kind: kind, Peer: peer(name), Tags: tags.Of(list...)}
	}
	denies := func(name string, list ...tags.Tag) bus.Event {
		e := event(bus.Refused, name, list...)
		e.Err = noRule(e.Tags)
		return e
	}
	silent := event(bus.Refused, "a")
	silent.Err = errors.New("connection refused")
	for _, test := range []struct {
		name   string
		events []bus.Event
		want   uint64
	}{
		{"none", nil, 0},
		{"a dial that fails", []bus.Event{silent}, 0},
		{"the connection", []bus.Event{denies("a")}, 1},
		{"the connection, again and again", []bus.Event{denies("a"), denies("a")}, 1},
		{"the connection, until it is granted", []bus.Event{denies("a"), event(bus.Connected, "a"), event(bus.Subscribed, "a", 1)}, 0},
		{"the connection, which is there and not acknowledged", []bus.Event{denies("a"), event(bus.Connected, "a")}, 1},
		{"some tags", []bus.Event{event(bus.Subscribed, "a", 1), denies("a", 2, 3)}, 1},
		{"some tags, before others are acknowledged", []bus.Event{denies("a", 2, 3), event(bus.Subscribed, "a", 1)}, 1},
		{"some tags, of which one is granted", []bus.Event{denies("a", 2, 3), event(bus.Subscribed, "a", 1, 2)}, 1},
		{"some tags, until they are granted", []bus.Event{denies("a", 2, 3), event(bus.Subscribed, "a", 1, 2, 3)}, 0},
		{"some tags, until they are granted again", []bus.Event{denies("a", 2, 3), event(bus.Resubscribed, "a", 2, 3)}, 0},
		{"some tags, granted one by one", []bus.Event{denies("a", 2, 3), event(bus.Subscribed, "a", 2), event(bus.Subscribed, "a", 3)}, 0},
		{"some tags, that another has", []bus.Event{denies("a", 2), event(bus.Subscribed, "b", 2)}, 1},
		{"two", []bus.Event{denies("a", 2), denies("b")}, 2},
		{"one that has gone since", []bus.Event{denies("a", 2), event(bus.Goodbye, "a")}, 1},
		{"tags that are not wanted", []bus.Event{denies("a", 7)}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := session.Presence{Wanted: tags.Of(1, 2, 3)}
			for _, e := range test.events {
				p.See(e)
			}
			if got := p.Refused(); got != test.want {
				t.Errorf("got %d that refuse, want %d", got, test.want)
			}
			if got := p.Refusal("publisher"); (got != nil) != (test.want > 0) {
				t.Errorf("got %v, want an error if %d refuse", got, test.want)
			}
		})
	}
}

func TestWhoRefusesWhatIsNamed(t *testing.T) {
	at := netip.MustParseAddrPort("127.0.0.1:9")
	p := session.Presence{Wanted: tags.Everything()}
	p.See(bus.Event{Kind: bus.Refused, Peer: &bus.Peer{Instance: "a", Name: "pub", Host: "pc", Addr: at}, Tags: tags.Of(2, 7), Err: noRule(tags.Of(2, 7))})
	const want = `1 publisher refused: pub@pc (127.0.0.1:9) tags 0x0000000000000002,0x0000000000000007: anonymous may not subscribe to 0x0000000000000002,0x0000000000000007: ` +
		`no rule such as {"who":"anonymous","subscribe":"0x0000000000000002,0x0000000000000007"}: add the rule to the policy, or ask only for what it allows`
	if got := p.Refusal("publisher").Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	p = session.Presence{}
	p.See(bus.Event{Kind: bus.Refused, Peer: &bus.Peer{Instance: "b", Name: "pub", Host: "pc", Addr: at}, Err: &bus.BackendError{Theirs: "tls", Ours: "tcp"}})
	const plain = `1 publisher refused: pub@pc (127.0.0.1:9): bus: publisher speaks "tls", this subscriber "tcp": give --cert and --ca, the certificates of this program (tagbus cert issue makes them)`
	if got := p.Refusal("publisher").Error(); got != plain {
		t.Errorf("got  %s\nwant %s", got, plain)
	}
}

// TestDenialsAreBounded however many deny something: a recorder runs for months.
func TestDenialsAreBounded(t *testing.T) {
	var p session.Presence
	large := make([]tags.Tag, 1000)
	for i := range large {
		large[i] = tags.Tag(2 * i)
	}
	set := tags.Of(large...)
	deny := func(n int) {
		p.See(bus.Event{Kind: bus.Refused, Peer: &bus.Peer{Instance: fmt.Sprint(n)}, Tags: set, Err: noRule(set)})
	}
	for n := range 5000 {
		deny(n)
	}
	before := heapBytes()
	for n := range 5000 {
		deny(5000 + n)
	}
	if grown := heapBytes() - before; grown > 1<<20 || before > 64<<20 {
		t.Errorf("got %d bytes, and %d more after 5,000 more publishers, want none more", before, grown)
	}
	if got := p.Refusal("publisher").Error(); p.Refused() != 10_000 || len(got) > 4000 || !strings.Contains(got, "10,000 publishers refused: ") || !strings.Contains(got, "; and 9,997 others") {
		t.Errorf("got %d, %q, want three named", p.Refused(), got)
	}
}
