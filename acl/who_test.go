// SPDX-License-Identifier: Apache-2.0

package acl_test

import (
	"errors"
	"testing"

	"tagbus/acl"
	"tagbus/identity"
)

func TestWho_Matches_patterns(t *testing.T) {
	tests := []struct {
		pattern, name string
		want          bool
	}{
		{"dns:directory-*.cern.ch", "dns:directory-2.cern.ch", true},
		{"dns:directory-*.cern.ch", "dns:felix-07.cern.ch", false},
		{"cn:shift leader", "cn:shift leader", true},
		{"*", "cn:x", true},
		{"*", "anonymous", false},
		{"anonymous", "anonymous", true},
	}
	for _, test := range tests {
		who, err := acl.ParseWho(test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		peer, err := identity.NewPrincipal(test.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := who.Matches(peer); got != test.want || who.String() != test.pattern {
			t.Errorf("%s for %s: got %t and %q, want %t and the pattern", test.pattern, test.name, got, who, test.want)
		}
	}
	if _, err := acl.ParseWho("felix-07"); !errors.Is(err, acl.ErrWho) {
		t.Errorf("ParseWho of no pattern: got %v, want %v", err, acl.ErrWho)
	}
	if (acl.Who{}).Matches(identity.Principal{}) {
		t.Error("the zero value matches a peer, want none")
	}
}
