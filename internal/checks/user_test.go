// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/internal/testkit"
)

// userModules lists the modules that a program gets with this one, one a line.
const userModules = "internal/checks/testdata/user-modules.txt"

// TestAUserGetsNoMoreModules makes a program that imports the core, and lists its modules.
// A requirement of the core is a lowest version for all its users, and a line in what they
// audit, also if they build nothing of it: what few need, as etcd, has a module of its own.
func TestAUserGetsNoMoreModules(t *testing.T) {
	inRoot(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module mine\n\ngo 1.26\n\nrequire tagbus v0.0.0\n\nreplace tagbus => " + here + "\n",
		"go.sum":  string(sums),
		"main.go": "package main\n\nimport (\n\t_ \"tagbus/bus\"\n\t_ \"tagbus/node\"\n)\n\nfunc main() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := goIn(t, folder, "list", "-m", "-f", "{{.Path}}", "all")
	want, err := os.ReadFile(userModules)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Fields(string(want)), strings.Fields(got)); diff != "" {
		t.Errorf("the modules of a user differ from those in %s (-want +got): if users are to have one more, say why in the change that adds it\n%s", userModules, diff)
	}
	// What is linked into the program, without the minute that it takes to compile it.
	linked := strings.Fields(goIn(t, folder, "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "."))
	if !slices.Contains(linked, "tagbus") || slices.ContainsFunc(linked, func(m string) bool { return strings.Contains(m, "etcd") }) {
		t.Errorf("got a program of %q, want one with tagbus and without etcd", linked)
	}
}

// goIn runs the go command in the folder of a module, without a network, and returns what
// it prints.
func goIn(t *testing.T, folder string, args ...string) string {
	t.Helper()
	testkit.DependsOnTree()
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOPROXY=off", "GOSUMDB=off", "GOWORK=off", "CGO_ENABLED=0")
	var errs strings.Builder
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil && strings.Contains(errs.String(), "GOPROXY=off") {
		t.Skipf("needs all modules of go.mod in the module cache (go mod download): %s", errs.String())
	}
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return string(out)
}
