// SPDX-License-Identifier: Apache-2.0

package libtest_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/clib"
)

const sources = "cmd/libtagbus/libtest/testdata/"

var strict = []string{"-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"}

// TestTheHeader compiles as C99 and as C++17 without a warning, and keeps its sizes and offsets.
func TestTheHeader(t *testing.T) {
	for _, test := range []struct{ compiler, language, standard string }{
		{"gcc", "c", "-std=c99"}, {"gcc", "c", "-std=c11"}, {"g++", "c++", "-std=c++17"}, {"g++", "c++", "-std=c++20"},
	} {
		t.Run(test.language+test.standard, func(t *testing.T) {
			flags := append([]string{test.standard, "-c", "-x", test.language}, strict...)
			clib.Compile(t, test.compiler, "layout.o", append(flags, sources+"layout.c")...)
		})
	}
}

// TestTheSymbols: the library exports what the header declares, each with the version of the ABI, and
// the core one symbol.
func TestTheSymbols(t *testing.T) {
	dir := clib.Build(t)
	header, err := os.ReadFile(filepath.Join(clib.Root(t), "bindings/c/tagbus.h"))
	testkit.Must(t, err)
	var want []string
	for _, m := range regexp.MustCompile(`TAGBUS_API [^;(]*?(tagbus_\w+)\(`).FindAllSubmatch(header, -1) {
		want = append(want, string(m[1])+"@@TAGBUS_0")
	}
	slices.Sort(want)
	if len(want) < 45 {
		t.Fatalf("the header declares %d functions", len(want))
	}
	if diff := cmp.Diff(want, slices.DeleteFunc(symbols(t, filepath.Join(dir, "libtagbus.so.0")), func(s string) bool { return s == "TAGBUS_0" })); diff != "" {
		t.Errorf("symbols (-header +library):\n%s", diff)
	}
	if got := symbols(t, filepath.Join(dir, "libtagbus-core.so")); !slices.Equal(got, []string{"tagbus_core_v1"}) {
		t.Errorf("the core exports %v", got)
	}
}

// symbols returns what a library exports.
func symbols(t *testing.T, library string) (names []string) {
	t.Helper()
	out, err := exec.Command(clib.Compiler(t, "nm"), "-D", "--defined-only", library).Output()
	testkit.Must(t, err)
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		names = append(names, fields[len(fields)-1])
	}
	slices.Sort(names)
	return names
}

// traps are those of traps.c. Each is a process of its own.
var traps = []string{
	"works", "fork", "signals", "dlclose", "panic", "load", "views", "exit", "opens", "closing", "zero-copy",
	"handles", "texts", "limits", "slow", "next", "request", "room",
}

// attacks are those of attacks.c.
var attacks = []string{
	"writer", "times", "endless", "leaks", "end", "bus", "itself", "done", "crowd", "threads", "beside", "descriptors", "copies", "forks",
}

// closes are those of closes.c.
var closes = []string{"child", "mutual", "batch", "foreign"}

// TestTraps: what can go wrong between C and Go, and between a program and its threads.
func TestTraps(t *testing.T) { runAll(t, clib.Build(t), "traps", traps) }

// TestAttacks: what a program does wrong, or many of its threads at once.
func TestAttacks(t *testing.T) { runAll(t, clib.Build(t), "attacks", attacks) }

// TestCloses: what is closed while others close it, by callbacks, and for one another.
func TestCloses(t *testing.T) { runAll(t, clib.Build(t), "closes", closes) }

// TestTraps_cgocheck2 runs all of them with a core that checks which pointers it gives to C.
func TestTraps_cgocheck2(t *testing.T) {
	if !testkit.All() {
		t.Skip("without TAGBUS_TESTS=all")
	}
	dir := clib.BuildChecking(t)
	t.Run("traps", func(t *testing.T) { runAll(t, dir, "traps", traps) })
	t.Run("attacks", func(t *testing.T) { runAll(t, dir, "attacks", attacks) })
	t.Run("closes", func(t *testing.T) { runAll(t, dir, "closes", closes) })
}

// runAll runs the tests of a program in C.
func runAll(t *testing.T, dir, source string, want []string) {
	t.Helper()
	program := clib.Compile(t, "gcc", source, append(append([]string{"-std=c11"}, strict...), append([]string{sources + source + ".c"}, clib.Link(dir)...)...)...)
	out, _ := exec.Command(program).Output() // it names its tests, and fails
	if got := strings.Fields(string(out)); !slices.Equal(got, want) {
		t.Fatalf("the program has %v, want %v", got, want)
	}
	for _, name := range want {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runTrap(t, program, name, dir)
		})
	}
}

// runTrap runs one of traps.c.
func runTrap(t *testing.T, program, name, dir string, env ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, name, filepath.Join(t.TempDir(), "bus"))
	cmd.Env = append(append(os.Environ(), "TAGBUS_TEST_CORE="+filepath.Join(dir, "libtagbus-core.so")), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if said := testkit.Said(out.Bytes()); err != nil || said != "" {
		t.Errorf("%v\n%s", err, said)
	}
}
