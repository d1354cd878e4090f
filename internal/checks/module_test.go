// SPDX-License-Identifier: Apache-2.0

package checks_test

import "testing"

// inRoot makes the folder of the module that of the test. TestMain would be too early for that:
// go test, which keeps what has passed by the files that a test opens, would look for those
// here, and would see no change.
func inRoot(t *testing.T) {
	t.Helper()
	t.Chdir("../..")
}
