// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"go/build/constraint"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// forLinux are the packages that build on Linux alone, because they use what only its kernel
// has, or what a bus is opened with. make elsewhere builds what is for macOS and Windows too.
var forLinux = []string{
	"bus/directory/file", "internal/headroom", "netio/reactor", "netio/shm", "cmd/internal/bench", "cmd/internal/info", "cmd/internal/list", "cmd/internal/losses",
	"cmd/internal/recorder", "cmd/internal/replay", "cmd/internal/screen", "cmd/internal/sub", "cmd/internal/targets",
	"cmd/internal/web/serve", "test/faults/load", "test/faults/internal/bed", "test/faults/internal/record", "test/faults/internal/rows",
	"test/faults/internal/audit", "test/faults/soak",
}

// TestPackagesForLinuxSaySo: a file of one of them without the constraint is a wall of errors
// of the compiler elsewhere. elsewhere.go says in words what the package needs.
func TestPackagesForLinuxSaySo(t *testing.T) {
	inRoot(t)
	for _, dir := range forLinux {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: got %d files, error %v", dir, len(files), err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			elsewhere := filepath.Base(name) == "elsewhere.go"
			if onLinux, onMac := builds(t, string(text), "linux"), builds(t, string(text), "darwin"); onLinux == elsewhere || onMac != elsewhere {
				t.Errorf("%s: want //go:build linux behind its first line", name)
			}
		}
	}
}

// TestPackagesAreFoundElsewhere: one whose files are all for Linux is nothing for those that import it there, which the
// compiler does not say in words. It has elsewhere.go, and is in the list above.
func TestPackagesAreFoundElsewhere(t *testing.T) {
	inRoot(t)
	for _, system := range []string{"darwin", "windows"} {
		list := exec.Command("go", "list", "-deps", "./...")
		list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		var said strings.Builder
		list.Stderr = &said
		if err := list.Run(); err != nil {
			t.Errorf("%s: %v:\n%s", system, err, said.String())
		}
	}
}

// TestTheCommandForLaptopsNeedsNoneOfThem: what tagbus imports elsewhere builds there. make elsewhere
// builds it; this says which import is in the way.
func TestTheCommandForLaptopsNeedsNoneOfThem(t *testing.T) {
	inRoot(t)
	for _, system := range []string{"darwin", "windows"} {
		list := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}}{{range .Imports}} {{.}}{{end}}", "./cmd/tagbus")
		list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			words := strings.Fields(line)
			for _, imported := range words[1:] {
				if slices.Contains(forLinux, strings.TrimPrefix(imported, "tagbus/")) {
					t.Errorf("%s: %s imports %s, which is for Linux", system, words[0], imported)
				}
			}
		}
	}
}

// builds reports whether the constraint of a file allows a system.
func builds(t *testing.T, text, system string) bool {
	t.Helper()
	head, _, _ := strings.Cut(text, "\npackage ")
	for line := range strings.Lines(head) {
		if !constraint.IsGoBuild(line) {
			continue
		}
		expr, err := constraint.Parse(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		return expr.Eval(func(tag string) bool { return tag == system })
	}
	return true
}
