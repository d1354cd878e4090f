// SPDX-License-Identifier: Apache-2.0

package signed_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"tagbus/acl"
	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/signed"
	"tagbus/identity"
	"tagbus/internal/testkit/pki"
	"tagbus/tags"
)

// site is a CA with processes that have certificates of it and go by one policy.
type site struct {
	t  testing.TB
	ca *pki.Issued

	mu       sync.Mutex
	policy   *acl.Policy
	watchers map[*func()]struct{}
}

func newSite(tb testing.TB, policy string) *site {
	tb.Helper()
	x := &site{t: tb, ca: pki.NewCA(tb, "cn:site"), watchers: make(map[*func()]struct{})}
	x.policy = x.parse(policy)
	return x
}

func (x *site) parse(policy string) *acl.Policy {
	x.t.Helper()
	p, err := acl.Parse("policy.json", []byte(policy))
	must(x.t, err)
	return p
}

func (x *site) now() *acl.Policy {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.policy
}

// change exchanges the policy.
func (x *site) change(policy string) {
	x.t.Helper()
	p := x.parse(policy)
	x.mu.Lock()
	x.policy = p
	x.mu.Unlock()
	x.tell()
}

func (x *site) tell() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for w := range x.watchers {
		(*w)()
	}
}

func (x *site) Split(who identity.Principal, action acl.Action, asked tags.Set) (may, mayNot tags.Set) {
	return x.now().Split(who, action, asked)
}

func (x *site) Explain(who identity.Principal, action acl.Action, tag tags.Tag) string {
	return fmt.Sprint(x.now().Explain(who, action, tag))
}

func (x *site) Watch(changed func()) (stop func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	w := &changed
	x.watchers[w] = struct{}{}
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.watchers, w)
	}
}

// files are those of a process.
type files struct {
	store *identity.Store
	dir   string
}

// process returns the certificates of a process, of its own CA if there is one.
func (x *site) process(own *pki.Issued) files {
	x.t.Helper()
	f := files{dir: x.t.TempDir()}
	f.issue(x.t, own)
	ca := pki.Write(x.t, f.dir, "ca.pem", pki.PEM(x.ca))
	crl := pki.Write(x.t, f.dir, "crl.pem", x.ca.Revoke(x.t, x.ca.NotAfter))
	store, err := identity.Open(identity.Config{Certificate: f.dir + "/own.pem", Key: f.dir + "/own.key", CA: ca, Revoked: []string{crl}})
	must(x.t, err)
	x.t.Cleanup(store.Close)
	f.store = store
	return f
}

// issue replaces the certificate in the files.
func (f files) issue(tb testing.TB, own *pki.Issued) {
	tb.Helper()
	pki.Write(tb, f.dir, "own.pem", pki.PEM(own))
	pki.Write(tb, f.dir, "own.key", own.KeyPEM(tb))
}

// as returns the certificates of a process with a name.
func (x *site) as(name string) files {
	x.t.Helper()
	return x.process(x.ca.Issue(x.t, name))
}

// wrap returns a directory in front of another one, which stays open.
func (x *site) wrap(d directory.Directory, store *identity.Store) *signed.Directory {
	x.t.Helper()
	opened := signed.Wrap(d, signed.Config{Identity: store, Access: x, KeepOpen: true})
	x.t.Cleanup(func() { must(x.t, opened.Close()) })
	return opened.(*signed.Directory)
}

// log is what a watcher was told, in a bubble of testing/synctest.
type log struct {
	t testing.TB

	mu     sync.Mutex
	events []directory.Event
}

func watch(tb testing.TB, d directory.Directory) *log {
	tb.Helper()
	l := &log{t: tb}
	stop, err := d.Watch(func(e directory.Event) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.events = append(l.events, e)
	})
	must(tb, err)
	tb.Cleanup(stop)
	return l
}

// take returns the events since it was called last.
func (l *log) take() []directory.Event {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	events := l.events
	l.events = nil
	return events
}

// want fails the test unless the events since it was called last are those, as "gone a", and returns
// them.
func (l *log) want(kinds ...string) []directory.Event {
	l.t.Helper()
	events := l.take()
	got := make([]string, len(events))
	for i, e := range events {
		instance := e.Entry.Instance
		if why := (*signed.RefusedError)(nil); instance == "" && errors.As(e.Err, &why) {
			instance = why.Instance
		}
		got[i] = e.Kind.String() + " " + instance
	}
	if fmt.Sprint(got) != fmt.Sprint(kinds) {
		l.t.Fatalf("got the events %v, want %v", events, kinds)
	}
	return events
}

// entry returns an entry that was announced by a process that does as it likes.
func entry(tb testing.TB, e directory.Entry, pair *tls.Certificate, nanos int64) directory.Entry {
	tb.Helper()
	e, err := signed.Sign(e, pair, nanos)
	must(tb, err)
	return e
}

func announce(tb testing.TB, d directory.Directory, instance string, set ...tags.Tag) directory.Registration {
	tb.Helper()
	r, err := d.Announce(directorytest.Entry(instance, set...))
	must(tb, err)
	return r
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
