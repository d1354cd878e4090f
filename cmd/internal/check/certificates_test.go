// SPDX-License-Identifier: Apache-2.0

package check

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tagbus/access"
	"tagbus/bus/observer"
	"tagbus/identity"
	"tagbus/internal/testkit/pki"
	"tagbus/node"
)

// selfOf returns what a command with a certificate finds of itself.
func selfOf(t *testing.T, name, policy string, in time.Duration) *selfSeen {
	t.Helper()
	dir, ca := t.TempDir(), pki.NewCA(t, "cn:site")
	own := ca.Issue(t, name)
	a, err := access.Open(access.Config{
		Identity: identity.Config{
			Certificate: pki.Write(t, dir, "own.pem", pki.PEM(own)),
			Key:         pki.Write(t, dir, "own.key", own.KeyPEM(t)),
			CA:          pki.Write(t, dir, "ca.pem", pki.PEM(ca)),
		},
		Policy: pki.Write(t, dir, "policy.json", []byte(policy)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	end := a.Identity().Certificate().NotAfter
	return lookAtSelf(a, end.Add(-in))
}

func TestCheckSaysWhoThisCommandIs(t *testing.T) {
	const policy = `{"rules":[{"who":"cn:dcs","subscribe":"0x10","describe":"*"}]}`
	tests := []struct {
		name, peer string
		in         time.Duration
		want       []string
	}{
		{"good for long", "cn:dcs", 100 * 24 * time.Hour, []string{
			"ok: cn:dcs: this is what peers know this command as; its certificate is good for 100 days",
			"ok: cn:dcs: the policy of --acl lets it subscribe to 0x0000000000000010; ask for the state of ",
		}},
		{"ends soon", "cn:dcs", time.Hour, []string{"warning: certificate-ends: cn:dcs: the certificate of this command ends in 1h0m0s"}},
		{"expired", "cn:dcs", -time.Hour, []string{"error: certificate-expired: cn:dcs: "}},
		{"may do nothing", "cn:none", 100 * 24 * time.Hour, []string{"note: no-rights: cn:none: none of the 1 rules of --acl lets it do anything"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := healthy()
			s.self = selfOf(t, tt.peer, policy, tt.in)
			got := shown(judgeCertificates(s), func(Finding) bool { return true })
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("got %s, want %q in it", got, want)
				}
			}
		})
	}
	if all := judgeCertificates(healthy()); all != nil {
		t.Errorf("got %v without certificates, want nothing", all)
	}
}

// known makes this command one with a certificate that lasts for some time.
func known(name string, ends time.Duration, change func(*selfSeen)) func(*seen) {
	return func(s *seen) {
		s.self = &selfSeen{name: name, label: name + " (serial 1)", ends: ends, at: noon.Add(ends)}
		change(s.self)
	}
}

func as(*selfSeen) {}

var certificateWrongs = []wrong{
	{"a policy and no certificate", known("anonymous", 0, func(s *selfSeen) { s.label = "" })},
	{"the certificate has expired", known("cn:dcs", -time.Hour, as)},
	{"the certificate ends soon", known("cn:dcs", 100*time.Hour, as)},
	{"the certificate is of another CA", known("cn:dcs", 9000*time.Hour, func(s *selfSeen) {
		s.wrong = &identity.ChainError{Certificate: "cn:dcs (serial 1)", Err: identity.ErrUnknownCA}
	})},
	{"no rule for this command", known("cn:dcs", 9000*time.Hour, func(s *selfSeen) { s.named, s.rules = true, 7 })},
	{"a program does not take the certificate", failing(refused(fmt.Errorf("%w: %w: %w", node.ErrHandshake, node.ErrCertificateRefused, errors.New("remote error: tls: expired certificate"))), 0)},
	{"a program has another CA", failing(refused(fmt.Errorf("%w: %w", node.ErrHandshake, &identity.ChainError{Certificate: "cn:felix-1 (serial 2)", Err: identity.ErrUnknownCA})), 0)},
	{"a program does not tell this command of itself", func(s *seen) {
		s.entries[0].first = answerSeen{err: fmt.Errorf(`%w: cn:x may not ask for the state of anything here: no rule such as {"who":"cn:x","describe":"TAGS"}`, observer.ErrDenied)}
		s.entries[0].second = answerSeen{}
	}},
}
