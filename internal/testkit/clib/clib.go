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

// built is a library of this test process.
type built struct {
	sync.Once
	dir    string
	failed string
}

var usual, checking built

// Build returns the folder of libtagbus.so and libtagbus-core.so. It builds them as make lib does,
// unless that was done of the same sources.
func Build(tb testing.TB) (dir string) {
	tb.Helper()
	return usual.make(tb, "lib")
}

// BuildChecking is Build with a core that checks each pointer that memory of C gets (cgocheck2).
func BuildChecking(tb testing.TB) (dir string) {
	tb.Helper()
	return checking.make(tb, "lib-cgocheck2", "GOEXPERIMENT=cgocheck2")
}

// make builds a library in a folder below bin.
func (b *built) make(tb testing.TB, folder string, env ...string) (dir string) {
	tb.Helper()
	Compiler(tb, "gcc")
	testkit.DependsOnTree()
	root := Root(tb)
	b.Do(func() { b.dir, b.failed = makeLibrary(root, folder, env...) })
	if b.failed != "" {
		tb.Fatal(b.failed)
	}
	return b.dir
}

// makeLibrary runs scripts/lib.sh, which waits for another one that runs.
func makeLibrary(root, folder string, env ...string) (dir, failed string) {
	dir = filepath.Join(root, "bin", folder)
	cmd := exec.Command(filepath.Join(root, "scripts", "lib.sh"))
	cmd.Env = append(Environ(dir), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", "scripts/lib.sh: " + err.Error() + "\n" + string(out)
	}
	return dir, ""
}

// Environ returns the environment in which scripts/lib.sh builds a library of a test, with the flags of the go command
// that there are: so all builds share what they have compiled. The library has no commit, or each would link it again.
//
//   - dir: the folder of the library.
//   - flags: more of the go command.
func Environ(dir string, flags ...string) []string {
	flags = append([]string{os.Getenv("GOFLAGS"), "-buildvcs=false"}, flags...)
	return append(os.Environ(), "OUT="+dir, "GOFLAGS="+strings.Join(flags, " "))
}

// Library returns the sources of libtagbus.so, from the root of the repository, and what it is linked with.
func Library(tb testing.TB) (args []string) {
	tb.Helper()
	root := Root(tb)
	files, err := filepath.Glob(filepath.Join(root, "bindings/c/*.c"))
	if err != nil {
		tb.Fatal(err)
	}
	for _, file := range files {
		args = append(args, "bindings/c/"+filepath.Base(file))
	}
	return append(args, "-ldl", "-lpthread")
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
