// SPDX-License-Identifier: Apache-2.0

package reception_test

import (
	"crypto/x509"
	"testing"
	"testing/synctest"

	"tagbus/acl"
	"tagbus/identity"
	"tagbus/subscription"
	"tagbus/tags"
)

// policy lets anonymous peers do one thing with some tags.
type policy struct {
	action acl.Action
	set    tags.Set
}

func (policy) Self() identity.Principal { return identity.Principal{} }

func (policy) Identify([]*x509.Certificate) (*identity.Peer, error) { return &identity.Peer{}, nil }

func (policy) Check(*identity.Peer) error { return nil }

func (p policy) Split(_ identity.Principal, a acl.Action, asked tags.Set) (may, mayNot tags.Set) {
	if a != p.action {
		return tags.Set{}, asked
	}
	may, _ = asked.Intersection(p.set)
	mayNot, _ = asked.Without(p.set)
	return may, mayNot
}

func (p policy) Allowed(_ identity.Principal, a acl.Action) tags.Set {
	if a != p.action {
		return tags.Set{}
	}
	return p.set
}

func (policy) Explain(identity.Principal, acl.Action, tags.Tag) string { return "" }

func (policy) Watch(func()) (stop func()) { return func() {} }

// A guest that Access does not let in is told so, and nothing of this side.
func TestAGuestThatMayNotComeIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, policy{acl.Describe, tags.Of(1)})
		got, ended := b.peer(1).says(t, hello(t, subscription.Hello{Expect: "that"}))
		if reason := reasonOf(t, got); reason == "" || !ended {
			t.Errorf("got %q, ended %v; want why, and the end", reason, ended)
		}
		if len(b.closed) != 1 || !b.closed[0].Barred {
			t.Errorf("got %+v closed, want one that was barred", b.closed)
		}
	})
}

func TestAnObserverSeesTheTagsThatItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, policy{acl.Describe, tags.Of(1)})
		p := b.peer(1)
		p.says(t, hello(t, subscription.Hello{Role: subscription.RoleObserver, MaxMessageBytes: 1 << 20}))
		if s := ask(t, p); s.KnownTags != 1 || len(s.Asked) != 1 || s.Asked[0].Tag != 1 {
			t.Errorf("got %+v, want tag 1 alone", s)
		}
	})
}
