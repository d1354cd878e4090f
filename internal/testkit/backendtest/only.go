// SPDX-License-Identifier: Apache-2.0

package backendtest

import (
	"tagbus/internal/testkit"
	"tagbus/netio"
	"tagbus/netio/netiotest"
)

// Only skips a configuration of a suite that is for builds of the other kind: race
// says that it is for those with the race detector, plain that it is for those
// without. With TAGBUS_TESTS=all a build without it skips nothing. So make test
// and make invariants run, together, each configuration at least once.
func Only(t netiotest.TB, race, plain bool) {
	t.Helper()
	if reason := leftOut(race, plain, testkit.Race, testkit.All()); reason != "" {
		t.Skipf("%s", reason)
	}
}

// OnlyModel is Only for one of several configurations with one of both models of
// threads. first says that it is the first of them.
//
// With Unsafe all of it is on one goroutine, where there is nothing to race for:
// the race detector has all with Safe, and both models of the first.
func OnlyModel(t netiotest.TB, first bool, model netio.ThreadSafety) {
	t.Helper()
	race, plain := buildsOf(first, model)
	Only(t, race, plain)
}

// leftOut returns why a configuration is left out of a build, with the race
// detector or not, or "".
func leftOut(race, plain, detector, all bool) string {
	switch {
	case detector && !race:
		return "left out under the race detector: other builds run it"
	case !detector && !plain && !all:
		return "left out without TAGBUS_TESTS=all: it runs under the race detector"
	default:
		return ""
	}
}

// buildsOf returns which builds a configuration is for.
func buildsOf(first bool, model netio.ThreadSafety) (race, plain bool) {
	safe := model == netio.Safe
	return first || safe, first == safe
}
