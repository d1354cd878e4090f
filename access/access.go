// SPDX-License-Identifier: Apache-2.0

// Package access decides whether a peer may do something, here and now.
//
// An Access puts together which peer a connection is from (package identity) and what the
// policy lets it do (package acl), as package bus asks it. It reads certificates and policy
// again when their files change, and tells the bus, which then looks at its peers again.
//
//	a, err := access.Open(access.Config{
//		Identity: identity.Config{Certificate: "felix-07.pem", Key: "felix-07.key", CA: "ca.pem"},
//		Policy:   "policy.json",
//	})
//	n, err := node.Open(node.Config{Bus: "/run/bus", Backend: "tls", Access: a})
//
// Without certificates every peer is anonymous, and the policy holds for it. Without a
// policy a peer that the certificates let in may do everything.
package access

import (
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tagbus/acl"
	"tagbus/bus"
	"tagbus/identity"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// ErrInvalidConfig is returned by Open for a Config with neither certificates nor a policy.
var ErrInvalidConfig = errors.New("access: name a policy, or certificate, key and CA, or both")

// Config says what an Access goes by. Either Identity or Policy may be left out.
type Config struct {
	// Identity names the files of certificates. Its Report is called besides what an Access
	// does.
	Identity identity.Config

	// Policy is the file of the policy. Empty: every peer with a certificate that counts may do
	// everything.
	Policy string

	// Every is the time between two looks at the files. 0: 10 s.
	Every time.Duration

	// Report, if not nil, is called with what is wrong with the files, once for each mistake,
	// and with nil when a policy or certificates were read again. What was read before stays in
	// use after a mistake, which the error says. Calls may come from two goroutines at once;
	// they must not call methods of the Access.
	Report func(err error)

	// Renewed, if not nil, is called with a line that says what was read again and is in use
	// from now on, after Open. Calls are as those of Report.
	Renewed func(what string)
}

// Access is a bus.Access. Open makes one; close it after the node that uses it.
//
// Threads: any, for all methods.
type Access struct {
	identity *identity.Store // nil: all peers are anonymous
	policy   *acl.Store      // nil: all is allowed
	report   func(error)
	renewed  func(string)

	since [2]atomic.Pointer[time.Time] // when the certificates and the policy in use were read

	mu       sync.Mutex
	watchers map[*watcher]struct{}
}

// What an Access reads: an index of since.
const (
	certificates = iota
	policies
)

// read notes that something is in use from now on.
func (a *Access) read(what int) {
	now := time.Now()
	a.since[what].Store(&now)
}

// kept returns an error of reading as one that says what stays in use; nil of nil.
func (a *Access) kept(what int, err error) error {
	since := a.since[what].Load()
	if err == nil || since == nil {
		return err
	}
	at := since.Format(time.TimeOnly)
	if what == certificates {
		return fmt.Errorf("%w; the certificates of %s stay in use", err, at)
	}
	return fmt.Errorf("%w; the policy of %s stays in use", err, at)
}

var (
	_ bus.Access  = (*Access)(nil)
	_ bus.Failing = (*Access)(nil)
)

// Open reads the files, and looks at them again and again until Close.
//
//   - Errors: ErrInvalidConfig; those of identity.Open and acl.Open.
func Open(c Config) (*Access, error) {
	named := c.Identity.Certificate != "" || c.Identity.Key != "" || c.Identity.CA != ""
	if !named && c.Policy == "" {
		return nil, ErrInvalidConfig
	}
	a := &Access{report: c.Report, renewed: c.Renewed, watchers: make(map[*watcher]struct{})}
	if a.report == nil {
		a.report = func(error) {}
	}
	if a.renewed == nil {
		a.renewed = func(string) {}
	}
	if named {
		if c.Identity.Every == 0 {
			c.Identity.Every = c.Every
		}
		c.Identity.Report = a.identityRead(c.Identity.Report)
		store, err := identity.Open(c.Identity)
		if err != nil {
			return nil, err
		}
		a.identity = store
	}
	if c.Policy != "" {
		store, err := acl.Open(acl.Config{
			File: c.Policy, Every: c.Every,
			Failed: func(err error) { a.report(a.kept(policies, err)) },
			Changed: func(p *acl.Policy) {
				a.read(policies)
				a.renewed(fmt.Sprintf("%s: another policy is in use, of %d rules", sanitize.Text(c.Policy), p.Rules()))
				a.tell()
			},
		})
		if err != nil {
			if a.identity != nil {
				a.identity.Close()
			}
			return nil, err
		}
		a.policy = store
		a.read(policies)
	}
	return a, nil
}

// identityRead returns what is called with what a look at the certificates finds.
func (a *Access) identityRead(also func(identity.Report)) func(identity.Report) {
	return func(r identity.Report) {
		if also != nil {
			also(r)
		}
		for _, err := range append(r.Warnings, a.kept(certificates, r.Err)) {
			if err != nil {
				a.report(err)
			}
		}
		if r.Loaded {
			if a.since[certificates].Load() != nil { // after Open
				a.renewed("certificates were read again and are in use")
			}
			a.read(certificates)
			a.tell()
		}
	}
}

// Identity returns the certificates; nil if there are none.
func (a *Access) Identity() *identity.Store { return a.identity }

// Policy returns the policy in use; nil if there is none.
func (a *Access) Policy() *acl.Policy {
	if a.policy == nil {
		return nil
	}
	return a.policy.Policy()
}

// Self implements bus.Access.
func (a *Access) Self() identity.Principal {
	if a.identity == nil {
		return identity.Principal{}
	}
	return a.identity.Principal()
}

// Identify implements bus.Access.
//
//   - Errors: *identity.ChainError.
func (a *Access) Identify(shown []*x509.Certificate) (*identity.Peer, error) {
	if len(shown) == 0 || a.identity == nil {
		return &identity.Peer{}, nil // the policy says what it may do
	}
	return a.identity.Verify(shown, x509.ExtKeyUsageAny)
}

// Check implements bus.Access.
//
//   - Errors: *identity.ChainError.
func (a *Access) Check(peer *identity.Peer) error {
	if a.identity == nil || peer.Principal.IsAnonymous() {
		return nil
	}
	return a.identity.Check(peer)
}

// Split implements bus.Access.
func (a *Access) Split(who identity.Principal, action acl.Action, asked tags.Set) (may, mayNot tags.Set) {
	if a.policy == nil {
		return asked, tags.Set{}
	}
	return a.policy.Policy().Split(who, action, asked)
}

// Allowed implements bus.Access.
func (a *Access) Allowed(who identity.Principal, action acl.Action) tags.Set {
	if a.policy == nil {
		return tags.Everything()
	}
	return a.policy.Policy().Allowed(who, action)
}

// Explain implements bus.Access.
func (a *Access) Explain(who identity.Principal, action acl.Action, tag tags.Tag) string {
	if a.policy == nil {
		return ""
	}
	return a.policy.Policy().Explain(who, action, tag).Near()
}

// Failing implements bus.Failing: the files could not be used at the last look, or their file system
// does not answer, and what was read before is in use.
//
//   - Blocks: never. Allocates: no.
func (a *Access) Failing() bool {
	return a.identity != nil && a.identity.Failing() || a.policy != nil && a.policy.Failing()
}

// Reload looks at the files now, as on SIGHUP.
//
//   - Errors: those of identity.Store.Reload and acl.Store.Reload, joined. What was read
//     before stays in use.
func (a *Access) Reload() error {
	var errs []error
	if a.identity != nil {
		errs = append(errs, a.kept(certificates, a.identity.Reload()))
	}
	if a.policy != nil {
		errs = append(errs, a.kept(policies, a.policy.Reload()))
	}
	return errors.Join(errs...)
}

// Close ends the looks at the files. What was read stays in use.
//
//   - Blocks: for 2.5 s at most, while a look waits for a file system that does not answer.
func (a *Access) Close() {
	var both sync.WaitGroup
	if a.identity != nil {
		both.Go(a.identity.Close)
	}
	if a.policy != nil {
		both.Go(a.policy.Close)
	}
	both.Wait()
}
