// SPDX-License-Identifier: Apache-2.0

package clib

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// Valgrind returns the words before a program that run it under valgrind, and what is added to its environment. The
// program ends with status 9 if there is something to report, which is written to standard error. It skips the test where
// there is no valgrind.
func Valgrind(tb testing.TB) (words, env []string) {
	tb.Helper()
	if _, err := exec.LookPath("valgrind"); err != nil {
		tb.Skip("needs valgrind (Debian: valgrind)")
	}
	supp := filepath.Join(Root(tb), "bindings/c/valgrind.supp")
	// It says that the processor has RDTSCP, and refuses it where that is not so, as in some virtual machines.
	return []string{"valgrind", "-q", "--error-exitcode=9", "--leak-check=full", "--suppressions=" + supp}, []string{"GODEBUG=cpu.rdtscp=off"}
}
