// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"slices"

	"pgregory.net/rapid"
)

// RunCheck runs one test of the suite. It reports whether there is one.
func RunCheck(t TB, s Suite, name string) bool {
	all := checks()
	i := slices.IndexFunc(all, func(c check) bool { return c.name == name })
	if i < 0 {
		return false
	}
	all[i].run(t, s.withDefaults())
	return true
}

// RandomRunTB is RandomRun for a fake *testing.T.
func RandomRunTB(t rapid.TB, s Suite) { randomRun(t, s) }
