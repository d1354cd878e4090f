// SPDX-License-Identifier: Apache-2.0

// Package clib builds the C library for tests, once for all of them, and programs with it.
package clib

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tagbus/internal/testkit"
)

// Root returns the root of the repository: the folder of go.mod above the package of the test.
func Root(tb testing.TB) string {
	tb.Helper()
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("no folder above the test has a go.mod")
		}
		dir = filepath.Dir(dir)
	}
}

// Compiler returns the C compiler, and skips the test if there is none.
func Compiler(tb testing.TB, name string) string {
	tb.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		tb.Skipf("needs %s (Debian: gcc g++ libc6-dev)", name)
	}
	return path
}

var build struct {
	sync.Once
	dir    string
	failed string
}

// Build returns the folder of libtagbus.so and libtagbus-core.so. It builds them as make lib does,
// unless that was done of the same sources.
func Build(tb testing.TB) (dir string) {
	tb.Helper()
	Compiler(tb, "gcc")
	testkit.DependsOnTree()
	root := Root(tb)
	build.Do(func() { build.dir, build.failed = makeLibrary(root) })
	if build.failed != "" {
		tb.Fatal(build.failed)
	}
	return build.dir
}

// makeLibrary runs scripts/lib.sh, which waits for another one that runs.
func makeLibrary(root string) (dir, failed string) {
	dir = filepath.Join(root, "bin", "lib")
	cmd := exec.Command(filepath.Join(root, "scripts", "lib.sh"))
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false") // else a commit, or a change of any file, has it linked again
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", "scripts/lib.sh: " + err.Error() + "\n" + string(out)
	}
	return dir, ""
}

// Compile compiles a program, and returns its path. Anything that the compiler says fails the test. What was
// compiled of the same sources is not compiled again.
//
//   - args: flags, and sources, from the root of the repository.
func Compile(tb testing.TB, compiler, name string, args ...string) (program string) {
	tb.Helper()
	compiler = Compiler(tb, compiler)
	root := Root(tb)
	kept := filepath.Join(root, "bin", "programs", key(tb, root, compiler, args), name)
	if _, err := os.Stat(kept); err == nil {
		return kept
	}
	program = filepath.Join(place(tb, filepath.Dir(kept)), name)
	cmd := exec.Command(compiler, append([]string{"-g", "-O1", "-Ibindings/c", "-o", program}, args...)...)
	cmd.Dir = root
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil || said.Len() > 0 {
		tb.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, said.Bytes())
	}
	return keep(program, kept)
}

// Link returns the flags that link a program with the library in a folder.
func Link(dir string) []string {
	return []string{"-L" + dir, "-ltagbus", "-Wl,-rpath," + dir, "-ldl", "-lpthread"}
}
