// SPDX-License-Identifier: Apache-2.0

package bindings_test

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/clib"
)

// strict are the warnings that the headers are without.
var strict = []string{"-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"}

// TestTheHeaders compile without a warning in each language standard, with each compiler.
func TestTheHeaders(t *testing.T) {
	if !testkit.All() {
		t.Skip("without TAGBUS_TESTS=all") // TestCPP has two of them
	}
	for _, compiler := range []string{"g++", "clang++"} {
		if _, err := exec.LookPath(compiler); err != nil && compiler != "g++" {
			continue // one is enough, and two are better
		}
		for _, standard := range []string{"-std=c++17", "-std=c++20", "-std=c++23"} {
			t.Run(compiler+standard, func(t *testing.T) {
				for _, source := range []string{"uses.cpp", "felix.cpp"} {
					args := append([]string{standard, "-fsyntax-only", "-Ibindings/cpp"}, strict...)
					clib.Compile(t, compiler, "none", append(args, "bindings/testdata/"+source)...)
				}
			})
		}
	}
}

// programs are in testdata: one uses all of tagbus.hpp, and one was written for felix-client-thread.
var programs = []struct{ name, standard string }{{"uses", "-std=c++20"}, {"felix", "-std=c++20"}}

// TestCPP runs programs that use the headers for C++ and check what they get.
func TestCPP(t *testing.T) {
	runAllCPP(t, clib.Build(t), "-g0")
}

// TestCPP_cgocheck2 runs them with a core that checks which pointers it gives to C.
func TestCPP_cgocheck2(t *testing.T) {
	if !testkit.All() {
		t.Skip("without TAGBUS_TESTS=all")
	}
	runAllCPP(t, clib.BuildChecking(t), "-g0")
}

// TestCPP_sanitized runs them under AddressSanitizer, and under ThreadSanitizer, with the library as it is installed.
func TestCPP_sanitized(t *testing.T) {
	if !testkit.All() {
		t.Skip("without TAGBUS_TESTS=all")
	}
	for _, sanitizer := range []string{"address,undefined", "thread"} {
		t.Run(sanitizer, func(t *testing.T) { runAllCPP(t, clib.Build(t), "-fsanitize="+sanitizer) })
	}
}

// runAllCPP compiles them with a flag, and runs them with a library.
func runAllCPP(t *testing.T, dir, flag string) {
	t.Helper()
	for _, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			runCPP(t, compileCPP(t, p.name, append([]string{p.standard, flag}, clib.Link(dir)...)...))
		})
	}
}

// compileCPP compiles one of the programs.
func compileCPP(t *testing.T, name string, args ...string) (program string) {
	t.Helper()
	args = append(append([]string{"-O0", "-Ibindings/cpp"}, strict...), append([]string{"bindings/testdata/" + name + ".cpp"}, args...)...)
	return clib.Compile(t, "g++", name, args...)
}

// runCPP runs one of them.
func runCPP(t *testing.T, program string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, filepath.Join(t.TempDir(), "bus"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if said := testkit.Said(out.Bytes()); err != nil || said != "" {
		t.Errorf("%v\n%s", err, said)
	}
}
