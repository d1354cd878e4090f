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

// TestCPP runs programs that use the headers for C++ and check what they get: one that uses all of
// tagbus.hpp, and one that was written for felix-client-thread.
func TestCPP(t *testing.T) {
	dir := clib.Build(t)
	for name, standard := range map[string]string{"uses": "-std=c++20", "felix": "-std=c++17"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{standard, "-O0", "-Ibindings/cpp"}, strict...)
			args = append(args, "bindings/testdata/"+name+".cpp")
			program := clib.Compile(t, "g++", name, append(args, clib.Link(dir)...)...)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, program, filepath.Join(t.TempDir(), "bus"))
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Run(); err != nil || out.Len() > 0 {
				t.Errorf("%v\n%s", err, out.Bytes())
			}
		})
	}
}
