// SPDX-License-Identifier: Apache-2.0

package acl_test

import (
	"testing"

	"go.uber.org/goleak"

	"tagbus/acl"
	"tagbus/identity"
	"tagbus/tags"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func who(tb testing.TB, names ...string) identity.Principal {
	tb.Helper()
	p, err := identity.NewPrincipal(names...)
	must(tb, err)
	return p
}

func set(tb testing.TB, text string) tags.Set {
	tb.Helper()
	s, err := tags.ParseSet(text)
	must(tb, err)
	return s
}

func parse(tb testing.TB, text string) *acl.Policy {
	tb.Helper()
	p, err := acl.Parse("", []byte(text))
	must(tb, err)
	return p
}
