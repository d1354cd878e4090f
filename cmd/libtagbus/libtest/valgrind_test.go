// SPDX-License-Identifier: Apache-2.0

package libtest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/clib"
)

// TestMemory: valgrind, with the suppressions of the package, and AddressSanitizer find what a program does wrong
// with its memory, also where it is Go that reads it, and nothing else. The library is as it is installed.
func TestMemory(t *testing.T) {
	if !testkit.All() {
		t.Skip("without TAGBUS_TESTS=all")
	}
	dir := clib.Build(t)
	words, env := clib.Valgrind(t)
	args := append([]string{"-std=c11", sources + "memory.c"}, clib.Link(dir)...)
	program, sanitized := clib.Compile(t, "gcc", "memory", args...), clib.Compile(t, "gcc", "memory", append(args, "-fsanitize=address")...)
	for _, test := range []struct{ does, valgrind, sanitizer string }{
		{"right", "", ""},
		{"freed", "Unaddressable byte(s) found during client check request", "heap-use-after-free"},
		{"beyond", "0 bytes after a block of size 100 alloc'd", "AddressSanitizer: "},
		{"gone", "3 bytes inside a block of size 100 free'd", "heap-use-after-free"},
		{"lost", "are definitely lost", "LeakSanitizer: detected memory leaks"},
	} {
		t.Run("valgrind/"+test.does, func(t *testing.T) {
			memory(t, append(words, program, test.does), env, 9, test.valgrind)
		})
		t.Run("address/"+test.does, func(t *testing.T) {
			memory(t, []string{sanitized, test.does}, nil, 1, test.sanitizer)
		})
	}
}

// memory runs memory.c, and checks what is found: nothing, or a text and a status.
func memory(t *testing.T, words, env []string, status int, want string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), words[0], append(words[1:], filepath.Join(t.TempDir(), "bus"))...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if want == "" {
		status = 0
	}
	if got := cmd.ProcessState.ExitCode(); got != status || !strings.Contains(string(out), want) {
		t.Errorf("got %v, want status %d and %q\n%s", err, status, want, out)
	}
}
