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

// TestWhereTheCoreIs: beside the library, also if a link led to that; else where the system looks. A wheel
// has no core with etcd, which a package may have installed.
func TestWhereTheCoreIs(t *testing.T) {
	lib, dir := clib.Build(t), t.TempDir()
	program := clib.Compile(t, "gcc", "load", "-std=c11", sources+"load.c", "-ldl")
	const library, core = "libtagbus.so.0", "libtagbus-core.so"
	place := func(folder string, link bool, names ...string) string {
		folder = filepath.Join(dir, folder)
		testkit.Must(t, os.Mkdir(folder, 0o755))
		for _, name := range names {
			add := os.Link
			if link {
				add = os.Symlink
			}
			if err := add(filepath.Join(lib, name), filepath.Join(folder, name)); err != nil {
				content, err := os.ReadFile(filepath.Join(lib, name)) // of another file system
				if err == nil {
					err = os.WriteFile(filepath.Join(folder, name), content, 0o755)
				}
				testkit.Must(t, err)
			}
		}
		return folder
	}
	both, alone, linked, system := place("both", false, library, core), place("alone", false, library), place("linked", true, library), place("system", false, core)
	bus := filepath.Join(dir, "bus")
	for _, test := range []struct{ name, folder, path, bus, want string }{
		{"beside", both, system, bus, filepath.Join(both, core)},
		{"a link", linked, system, bus, filepath.Join(lib, core)},
		{"the system's", alone, system, bus, filepath.Join(system, core)},
		{"none", alone, "", bus, "tagbus_open: the core cannot be loaded: " + filepath.Join(alone, core) + ": cannot open shared object file: No such file or directory: install libtagbus0, or name its file in TAGBUS_CORE"},
		{"none with etcd", both, system, "etcd://127.0.0.1:1/x", "tagbus_open: the core cannot be loaded: " + filepath.Join(both, "libtagbus-core-etcd.so") + ": cannot open shared object file: No such file or directory: install libtagbus0-etcd, or name its file in TAGBUS_CORE"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), program, filepath.Join(test.folder, library), test.bus)
			cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+test.path, "TAGBUS_CORE=")
			if out, err := cmd.Output(); strings.TrimSuffix(string(out), "\n") != test.want {
				t.Errorf("got %v and\n%swant\n%s", err, out, test.want)
			}
		})
	}
}

// TestMusl: a process on musl, which cannot load the core, is told so, and what to do.
func TestMusl(t *testing.T) {
	dir, tmp := clib.Build(t), t.TempDir()
	if _, err := exec.LookPath("musl-gcc"); err != nil {
		t.Skip("needs musl-gcc (Debian: musl-tools)")
	}
	// Debian's musl lacks the headers of the kernel.
	headers := []string{"-std=c11", "-idirafter", "/usr/include", "-idirafter", "/usr/include/x86_64-linux-gnu", "-idirafter", "/usr/include/aarch64-linux-gnu"}
	library := clib.Compile(t, "musl-gcc", "libtagbus.so.0", append(append(headers, "-fPIC", "-shared"), clib.Library(t)...)...)
	program := clib.Compile(t, "musl-gcc", "load", append(headers, sources+"load.c")...)
	cmd := exec.CommandContext(t.Context(), program, library, filepath.Join(tmp, "bus"))
	cmd.Env = append(os.Environ(), "TAGBUS_CORE="+filepath.Join(dir, "libtagbus-core.so"))
	out, err := cmd.Output()
	for _, want := range []string{"musl", "glibc", "subscriber --output", "publisher --input"} {
		if err == nil || !strings.Contains(string(out), want) {
			t.Fatalf("got %v and\n%swithout %q", err, out, want)
		}
	}
}
