// SPDX-License-Identifier: Apache-2.0

package libtest_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/clib"
)

// sanitizers are those of the compiler, with what Go in a process asks of them, and what of traps, attacks and closes each
// cannot run.
var sanitizers = []struct {
	name, env string
	leave     []string
}{
	{"address,undefined", "ASAN_OPTIONS=handle_segv=0:use_sigaltstack=0", []string{"threads"}},                    // it holds back memory
	{"thread", "TSAN_OPTIONS=handle_segv=0:use_sigaltstack=0:die_after_fork=0:halt_on_error=1", []string{"fork"}}, // it has no threads in a child of fork
}

// TestTraps_sanitized runs them, and the C part of the library, under AddressSanitizer and ThreadSanitizer.
func TestTraps_sanitized(t *testing.T) {
	if !testkit.All() {
		t.Skip("without TAGBUS_TESTS=all")
	}
	dir := clib.Build(t)
	for _, s := range sanitizers {
		t.Run(s.name, func(t *testing.T) {
			leave := append(s.leave, "load", "dlclose", "copies", "descriptors") // they need a library beside a core, or the sanitizer does
			for source, names := range map[string][]string{"traps": traps, "attacks": attacks, "closes": closes} {
				program := clib.Compile(t, "gcc", source, append([]string{"-std=c11", "-rdynamic", "-fsanitize=" + s.name, sources + source + ".c"}, clib.Library(t)...)...)
				for _, name := range names {
					if slices.Contains(leave, name) {
						continue
					}
					t.Run(name, func(t *testing.T) {
						runTrap(t, program, name, dir, s.env, "TAGBUS_CORE="+filepath.Join(dir, "libtagbus-core.so"))
					})
				}
			}
		})
	}
}

// TestRace: ThreadSanitizer takes nothing for a race that the bus orders, and finds a race of two callbacks that
// it does not. The library is as it is installed.
func TestRace(t *testing.T) {
	if !testkit.All() {
		t.Skip("without TAGBUS_TESTS=all")
	}
	dir := clib.Build(t)
	program := clib.Compile(t, "gcc", "race", append([]string{"-std=c11", "-fsanitize=thread", sources + "race.c"}, clib.Link(dir)...)...)
	for _, test := range []struct {
		what string
		race bool
	}{{"ordered", false}, {"race", true}} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), program, test.what, filepath.Join(t.TempDir(), "bus"))
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			found := errors.As(err, &exit) && strings.Contains(string(out), "data race")
			if found != test.race || !test.race && err != nil {
				t.Errorf("got %v\n%s", err, out)
			}
		})
	}
}
