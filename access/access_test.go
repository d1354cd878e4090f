// SPDX-License-Identifier: Apache-2.0

package access_test

import (
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"tagbus/access"
	"tagbus/identity"
	"tagbus/identity/identitytest"
)

// TestWhatStaysInUseIsSaid after a mistake, of a policy and of certificates.
func TestWhatStaysInUseIsSaid(t *testing.T) {
	dir, ca := t.TempDir(), identitytest.NewCA(t, "cn:site")
	own, other := ca.Issue(t, "cn:x"), ca.Issue(t, "cn:y")
	var mu sync.Mutex
	var wrong, renewed []string
	a, err := access.Open(access.Config{
		Identity: identity.Config{
			Certificate: identitytest.Write(t, dir, "own.pem", identitytest.PEM(own)),
			Key:         identitytest.Write(t, dir, "own.key", own.KeyPEM(t)),
			CA:          identitytest.Write(t, dir, "ca.pem", identitytest.PEM(ca)),
		},
		Policy: identitytest.Write(t, dir, "policy.json", []byte(`{"rules":[{"who":"cn:x","publish":"1"}]}`)),
		Every:  time.Hour,
		Report: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				wrong = append(wrong, err.Error())
			}
		},
		Renewed: func(what string) {
			mu.Lock()
			defer mu.Unlock()
			renewed = append(renewed, what)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if len(wrong)+len(renewed) > 0 {
		t.Errorf("got %q and %q from Open, want nothing", wrong, renewed)
	}
	identitytest.Write(t, dir, "own.key", other.KeyPEM(t))
	identitytest.Write(t, dir, "policy.json", []byte(`{"rules":[{"who":"cn:x","publish":"x"}]}`))
	if err := a.Reload(); err == nil {
		t.Error("got no error from Reload, want those of both files")
	}
	for _, want := range []string{
		`own\.key: the key belongs to another certificate .*; the certificates of \d\d:\d\d:\d\d stay in use$`,
		`policy\.json:1: rule 1: publish: .*; the policy of \d\d:\d\d:\d\d stays in use$`,
	} {
		if !slices.ContainsFunc(wrong, regexp.MustCompile(want).MatchString) {
			t.Errorf("got %q, want %s", wrong, want)
		}
	}
	identitytest.Write(t, dir, "own.pem", identitytest.PEM(other))
	identitytest.Write(t, dir, "policy.json", []byte(`{"rules":[]}`))
	if err := a.Reload(); err != nil {
		t.Errorf("got %v from Reload, want none", err)
	}
	if len(renewed) != 2 || a.Self().String() != "cn:y" || a.Policy().Rules() != 0 {
		t.Errorf("got %q, %v and %d rules, want both read anew", renewed, a.Self(), a.Policy().Rules())
	}
}
