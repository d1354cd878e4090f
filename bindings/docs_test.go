// SPDX-License-Identifier: Apache-2.0

package bindings_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/clib"
)

// TestTheDocs compiles the programs in the documents as they say, by pkg-config, and runs those that end.
func TestTheDocs(t *testing.T) {
	dir := clib.Build(t)
	if _, err := exec.LookPath("pkg-config"); err != nil {
		t.Skip("needs pkg-config (Debian: pkg-config)")
	}
	for _, test := range []struct {
		doc      string
		programs int
		prints   string
	}{{"docs/c.md", 2, "hello, detector\n"}, {"docs/felix-client.md", 1, ""}, {"README.md", 1, ""}} {
		if test.prints == "" && !testkit.All() {
			continue
		}
		programs := programsOf(t, filepath.Join(clib.Root(t), test.doc))
		if len(programs) != test.programs {
			t.Errorf("%s: got %d programs, want %d", test.doc, len(programs), test.programs)
		}
		for _, p := range programs {
			t.Run(filepath.Base(test.doc)+"/"+p.language, func(t *testing.T) {
				t.Parallel()
				p.compile(t, dir, test.prints)
			})
		}
	}
}

// source is a program in a document.
type source struct{ language, text string }

// programsOf returns the programs in C and C++ that a document has in whole.
func programsOf(t *testing.T, name string) (all []source) {
	t.Helper()
	testkit.DependsOnTree()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```(c|cpp)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(m[2], "int main(") {
			all = append(all, source{m[1], m[2]})
		}
	}
	return all
}

// compile compiles a program, and runs it if it prints something.
func (s source) compile(t *testing.T, lib, prints string) {
	t.Helper()
	dir := t.TempDir()
	file, program := filepath.Join(dir, "first."+s.language), filepath.Join(dir, "first")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(s.text, "/tmp/bus", dir+"/bus")), 0o600); err != nil {
		t.Fatal(err)
	}
	compiler, standard := clib.Compiler(t, "gcc"), "-std=c11"
	if s.language == "cpp" {
		compiler, standard = clib.Compiler(t, "g++"), "-std=c++17"
	}
	flags := "$(pkg-config --cflags --libs tagbus)"
	if prints == "" {
		flags = "-fsyntax-only " + flags
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", compiler+" -Wall -Wextra -Werror "+standard+" "+file+" -o "+program+" "+flags)
	cmd.Env = append(os.Environ(), "PKG_CONFIG_PATH="+filepath.Join(lib, "pkgconfig"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if prints == "" {
		return
	}
	run := exec.CommandContext(t.Context(), program)
	run.Env = append(os.Environ(), "LD_LIBRARY_PATH="+lib)
	if out, err := run.CombinedOutput(); err != nil || testkit.Said(out) != prints {
		t.Errorf("got %v and %q, want %q", err, out, prints)
	}
}

// TestCMake builds a program in C and one in C++ with the CMake config beside the library.
func TestCMake(t *testing.T) {
	if !testkit.All() {
		t.Skip("without TAGBUS_TESTS=all")
	}
	lib, dir := clib.Build(t), t.TempDir()
	if _, err := exec.LookPath("cmake"); err != nil {
		t.Skip("needs cmake (Debian: cmake)")
	}
	examples := filepath.Join(clib.Root(t), "bindings")
	text := "cmake_minimum_required(VERSION 3.13)\nproject(examples C CXX)\nfind_package(tagbus 0.1 REQUIRED)\n" +
		"add_executable(one " + examples + "/c/examples/monitor.c)\ntarget_link_libraries(one tagbus::tagbus)\n" +
		"add_executable(two " + examples + "/cpp/examples/monitor.cpp)\ntarget_compile_features(two PRIVATE cxx_std_17)\ntarget_link_libraries(two tagbus::tagbus)\n"
	if err := os.WriteFile(filepath.Join(dir, "CMakeLists.txt"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"-Dtagbus_DIR=" + lib + "/cmake/tagbus", "-S", dir, "-B", dir + "/build"}, {"--build", dir + "/build"}} {
		if out, err := exec.CommandContext(t.Context(), "cmake", args...).CombinedOutput(); err != nil {
			t.Fatalf("cmake %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
