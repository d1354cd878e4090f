// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"crypto/x509"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/acl"
	"tagbus/bus"
	"tagbus/identity"
	"tagbus/internal/testkit/pki"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// rules is a bus.Access with a policy that a test exchanges. One belongs to a process with a
// certificate; all processes of a test may share the policy.
type rules struct {
	self identity.Principal
	in   *site
}

// site is what all processes of a test go by.
type site struct {
	b  *bed
	ca *pki.Issued

	mu       sync.Mutex
	policy   *acl.Policy
	gone     map[string]error // principals that no longer count
	watchers map[*func()]struct{}
}

// certificates are those of all sites. To make one takes as long as forty steps of a model.
type certificates struct {
	mu sync.Mutex
	ca *pki.Issued
	by map[string]*pki.Issued // by name
}

var issued = certificates{by: make(map[string]*pki.Issued)}

// of returns the certificate of a name; "": that of the CA.
func (c *certificates) of(tb testing.TB, name string) *pki.Issued {
	tb.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ca == nil {
		c.ca = pki.NewCA(tb, "cn:site", always)
	}
	if name == "" {
		return c.ca
	}
	one := c.by[name]
	if one == nil {
		one = c.ca.Issue(tb, name, always)
		c.by[name] = one
	}
	return one
}

// always is a pki.Change: what is issued is valid by all clocks, those of synctest too.
func always(c *x509.Certificate) { c.NotBefore, c.NotAfter = time.Unix(0, 0), time.Unix(1<<32, 0) }

func (b *bed) site(policy string) *site {
	b.tb.Helper()
	x := &site{b: b, ca: issued.of(b.tb, ""), gone: make(map[string]error), watchers: make(map[*func()]struct{})}
	x.policy = x.parse(policy)
	return x
}

func (x *site) parse(policy string) *acl.Policy {
	x.b.tb.Helper()
	p, err := acl.Parse("policy.json", []byte(policy))
	must(x.b.tb, err)
	return p
}

// as makes what is opened next show a certificate with a name; "": none. It returns the
// Access of that process.
func (x *site) as(name string, changes ...pki.Change) bus.Access {
	x.b.tb.Helper()
	if name == "" {
		x.b.shows = nil
		return &rules{in: x}
	}
	var c *pki.Issued
	if len(changes) == 0 {
		c = issued.of(x.b.tb, name)
	} else {
		c = x.ca.Issue(x.b.tb, name, changes...)
	}
	x.b.shows = []*x509.Certificate{c.Certificate}
	self, err := identity.NewPrincipal(name)
	must(x.b.tb, err)
	return &rules{self, x}
}

// change exchanges the policy.
func (x *site) change(policy string) {
	x.b.tb.Helper()
	p := x.parse(policy)
	x.set(func() { x.policy = p })
}

// set changes something, and tells all.
func (x *site) set(f func()) {
	x.swap(f)
	synctest.Wait()
}

// swap is set that waits for nothing.
func (x *site) swap(f func()) {
	x.mu.Lock()
	f()
	watchers := make([]func(), 0, len(x.watchers))
	for w := range x.watchers {
		watchers = append(watchers, *w)
	}
	x.mu.Unlock()
	for _, w := range watchers {
		w()
	}
}

func (x *site) now() *acl.Policy {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.policy
}

func (r *rules) Self() identity.Principal { return r.self }

func (r *rules) Identify(shown []*x509.Certificate) (*identity.Peer, error) {
	if len(shown) == 0 {
		return &identity.Peer{}, nil
	}
	who, err := identity.PrincipalOf(shown[0])
	if err != nil {
		return nil, err
	}
	p := &identity.Peer{Principal: who, Chain: append(shown[:1:1], r.in.ca.Certificate)}
	return p, r.Check(p)
}

func (r *rules) Check(peer *identity.Peer) error {
	r.in.mu.Lock()
	defer r.in.mu.Unlock()
	return r.in.gone[peer.Principal.String()]
}

func (r *rules) Split(who identity.Principal, action acl.Action, asked tags.Set) (may, mayNot tags.Set) {
	return r.in.now().Split(who, action, asked)
}

func (r *rules) Allowed(who identity.Principal, action acl.Action) tags.Set {
	return r.in.now().Allowed(who, action)
}

func (r *rules) Explain(who identity.Principal, action acl.Action, tag tags.Tag) string {
	return r.in.now().Explain(who, action, tag).Near()
}

func (r *rules) Watch(changed func()) (stop func()) {
	r.in.mu.Lock()
	defer r.in.mu.Unlock()
	w := &changed
	r.in.watchers[w] = struct{}{}
	return func() {
		r.in.mu.Lock()
		defer r.in.mu.Unlock()
		delete(r.in.watchers, w)
	}
}

// wantRefused fails the test unless a member has a Refused event whose error has a text, and
// returns it.
func (m *member) wantRefused(t *testing.T, text string) bus.Event {
	t.Helper()
	all := m.of(bus.Refused)
	for _, e := range all {
		if e.Err != nil && strings.Contains(e.Err.Error(), text) {
			return e
		}
	}
	t.Fatalf("got the refusals %v, want one with %q; all events: %v", all, text, m.events)
	return bus.Event{}
}

// wantAccessError fails the test unless an event is about a policy.
func wantAccessError(t *testing.T, e bus.Event) *bus.AccessError {
	t.Helper()
	refused := (*bus.AccessError)(nil)
	if !errors.Is(e.Err, bus.ErrNotAllowed) || !errors.As(e.Err, &refused) {
		t.Fatalf("got %v, want an AccessError", e.Err)
	}
	return refused
}

// dials connects a peer made by hand, with the certificate that as has made last, and says
// hello.
func (x *site) dials(t *testing.T, to *publisher, h subscription.Hello) *stranger {
	t.Helper()
	s := &stranger{answer: [][]byte{hello(t, h)}}
	backend, _ := x.b.stranger(s)
	must(t, backend.OpenEndpoint(to.Addr(), netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 1 << 20}}))
	synctest.Wait()
	return s
}
