// SPDX-License-Identifier: Apache-2.0

package netiotest_test

import (
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
	"tagbus/netio/netiotest"
)

// checkBroken runs one check of the suite, in a bubble, where its patience
// costs nothing.
func checkBroken(t *testing.T, f faults, check string) (fake *fakeTB) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := memnet.NewLoop()
		defer l.Close()
		s := brokenSuite(f, l)
		fake = runFake(func(fake *fakeTB) {
			if !netiotest.RunCheck(fake, s, check) {
				t.Fatalf("the suite has no check %q", check)
			}
		})
	})
	return fake
}

// brokenSuite is the suite of package memnet on one loop, with faults.
func brokenSuite(f faults, l *memnet.Loop) netiotest.Suite {
	n := memnet.New()
	reported := 0 // of the violations
	return netiotest.Suite{
		Open: func(t netiotest.TB, cfg netio.Config, h netio.Handler) netio.Backend {
			t.Helper()
			if f.config != nil {
				f.config(&cfg)
			}
			b, err := f.opener(n.Opener(l, memnet.Config{Config: cfg}))(h)
			if err != nil {
				t.Fatalf("open a backend: got error %v, want none", err)
			}
			t.Cleanup(func() {
				if err := b.Close(); err != nil {
					t.Errorf("Backend.Close: got error %v, want none", err)
				}
			})
			return b
		},
		Config:     f.base,
		ListenAddr: netip.MustParseAddrPort("127.0.0.1:0"),
		Capabilities: netio.Capabilities{
			Receive: true, Buffered: true, ZeroCopy: true, Immediate: true, Direct: true, Retain: !f.base.SharedReceive.Enabled(), AnyMemory: true,
		},
		Reset: func(a, b netio.Endpoint) { n.Reset(a.Local(), b.Local()) },
		Violations: func() []string {
			all := n.Violations()
			fresh := all[reported:]
			reported = len(all)
			return fresh
		},
	}
}

func allBroken() []brokenBackend {
	return slices.Concat(brokenBackends, brokenSharing, brokenRetains, brokenParts, brokenDirects)
}

func TestSuiteNoticesBrokenBackends(t *testing.T) {
	for _, tt := range allBroken() {
		t.Run(tt.name, func(t *testing.T) {
			if testkit.Race && slices.Contains(racyBackends, tt.name) {
				t.Skip("the race detector notices it before the suite")
			}
			fake := checkBroken(t, tt.faults, tt.check)
			if !fake.Failed() {
				t.Errorf("the check %q: got no failure, want one", tt.check)
			} else {
				t.Logf("noticed: %s", fake.failures[0])
			}
		})
	}
}

// TestSuiteAcceptsTheSameBackendsUnbroken shows that it is the fault that the
// checks above notice.
func TestSuiteAcceptsTheSameBackendsUnbroken(t *testing.T) {
	seen := map[string]bool{}
	for _, tt := range allBroken() {
		if seen[tt.check] {
			continue
		}
		seen[tt.check] = true
		t.Run(tt.check, func(t *testing.T) {
			if fake := checkBroken(t, faults{base: tt.base}, tt.check); fake.Failed() || fake.skipped {
				t.Errorf("an unbroken backend: got failures %q and skipped %v, want none and false", fake.failures, fake.skipped)
			}
		})
	}
}
