// SPDX-License-Identifier: Apache-2.0

package door_test

import (
	"crypto/x509"
	"errors"
	"testing"
	"time"

	"tagbus/acl"
	"tagbus/bus/internal/door"
	"tagbus/identity"
	"tagbus/netio"
	"tagbus/tags"
)

// rules is a policy that a test changes. A peer is called as the common name of its certificate says.
type rules struct {
	t       *testing.T
	allowed *acl.Policy
	gone    bool // no peer counts any more
	changed func()
}

// allow makes the policy one of rules for cn:peer and cn:self.
func (r *rules) allow(action, set string) {
	r.t.Helper()
	p, err := acl.Parse("test", []byte(`{"rules": [{"who": "cn:*", "`+action+`": "`+set+`"}]}`))
	if err != nil {
		r.t.Fatal(err)
	}
	r.allowed = p
}

func called(t *testing.T, name string) identity.Principal {
	t.Helper()
	p, err := identity.NewPrincipal(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (r *rules) Self() identity.Principal { return called(r.t, "cn:self") }

var errGone = errors.New("does not count")

func (r *rules) Identify(shown []*x509.Certificate) (*identity.Peer, error) {
	switch {
	case r.gone:
		return nil, errGone
	case len(shown) == 0:
		return &identity.Peer{}, nil
	}
	return &identity.Peer{Principal: called(r.t, "cn:"+shown[0].Subject.CommonName), Chain: shown}, nil
}

func (r *rules) Check(*identity.Peer) error {
	if r.gone {
		return errGone
	}
	return nil
}

func (r *rules) Split(who identity.Principal, a acl.Action, asked tags.Set) (may, mayNot tags.Set) {
	return r.allowed.Split(who, a, asked)
}

func (r *rules) Allowed(who identity.Principal, a acl.Action) tags.Set {
	return r.allowed.Allowed(who, a)
}

func (r *rules) Explain(identity.Principal, acl.Action, tags.Tag) string { return "nearest rule" }

func (r *rules) Watch(changed func()) (stop func()) {
	r.changed = changed
	return func() { r.changed = nil }
}

// end is an endpoint that has shown certificates.
type end struct {
	netio.Endpoint
	shown []*x509.Certificate
}

func (e end) PeerCertificates() []*x509.Certificate { return e.shown }

// of returns the connection of a peer whose certificate ends at a time.
func of(name string, until time.Time) netio.Endpoint {
	c := &x509.Certificate{NotAfter: until}
	c.Subject.CommonName = name
	return end{shown: []*x509.Certificate{c}}
}

// refused is a refusal as an error.
type refused struct{ door.Refusal }

func (r refused) Error() string { return r.String() }

// span returns the tags from one to another.
func span(first, last tags.Tag) (set tags.Set) {
	for tag := first; tag <= last; tag++ {
		set = set.Union(tags.Of(tag))
	}
	return set
}

func newDoor(t *testing.T, action, set string) (*door.Door, *rules) {
	t.Helper()
	r := &rules{t: t}
	r.allow(action, set)
	return &door.Door{Access: r, Refuse: func(x door.Refusal) error { return refused{x} }}, r
}

func refusalOf(t *testing.T, err error) door.Refusal {
	t.Helper()
	var r refused
	if !errors.As(err, &r) {
		t.Fatalf("got %v, want a refusal", err)
	}
	return r.Refusal
}
