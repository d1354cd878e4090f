// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"tagbus/internal/testkit"
)

// TestTheCoreServesNothing: a program in C loads the core, and has no use for the metrics, the page and
// the configuration files of a command. They were half of its size.
func TestTheCoreServesNothing(t *testing.T) {
	testkit.DependsOnTree()
	inRoot(t)
	list := exec.Command("go", "list", "-deps", "-f", "{{.ImportPath}}{{range .Imports}} {{.}}{{end}}", "./cmd/libtagbus")
	list.Env = append(os.Environ(), "CGO_ENABLED=1")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		for _, imported := range words[1:] {
			if slices.Contains([]string{"net/http", "tagbus/cmd/internal/cli", "tagbus/cmd/internal/web"}, imported) || strings.HasPrefix(imported, "github.com/prometheus/") {
				t.Errorf("%s imports %s, which serves a command", words[0], imported)
			}
		}
	}
}
