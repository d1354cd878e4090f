// SPDX-License-Identifier: Apache-2.0

package libtest_test

import (
	"path/filepath"
	"slices"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/clib"
)

// TestTraps_sanitized runs them with the C part under AddressSanitizer, and under ThreadSanitizer.
func TestTraps_sanitized(t *testing.T) {
	if !testkit.All() {
		t.Skip("without TAGBUS_TESTS=all")
	}
	dir := clib.Build(t)
	for _, test := range []struct {
		sanitizer string
		env       string
		leave     []string
	}{
		{"address,undefined", "ASAN_OPTIONS=detect_leaks=0:handle_segv=0:use_sigaltstack=0", []string{"threads"}},        // it holds back memory
		{"thread", "TSAN_OPTIONS=handle_segv=0:use_sigaltstack=0:die_after_fork=0", []string{"fork", "forks", "itself"}}, // threads in a child of fork; memory that Go hands over
	} {
		t.Run(test.sanitizer, func(t *testing.T) {
			leave := append(test.leave, "load", "dlclose", "copies", "descriptors") // they need a library beside a core, or the sanitizer does
			for source, names := range map[string][]string{"traps": traps, "attacks": attacks} {
				// The program alone is without it: it does not see what Go orders between threads.
				object := clib.Compile(t, "gcc", source+".o", "-std=c11", "-c", sources+source+".c")
				program := clib.Compile(t, "gcc", source, "-std=c11", "-fsanitize="+test.sanitizer, object, "bindings/c/libtagbus.c", "-rdynamic", "-ldl", "-lpthread")
				for _, name := range names {
					if slices.Contains(leave, name) {
						continue
					}
					t.Run(name, func(t *testing.T) {
						runTrap(t, program, name, dir, test.env, "TAGBUS_CORE="+filepath.Join(dir, "libtagbus-core.so"))
					})
				}
			}
		})
	}
}
