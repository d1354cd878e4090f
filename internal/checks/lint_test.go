// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLintRunsAllItsParts: one that fails hides no other, and the end names those that failed.
func TestLintRunsAllItsParts(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	dir := t.TempDir()
	linter := filepath.Join(dir, "linter")
	// It finds something in two of its runs, and is otherwise content.
	stub := "#!/bin/sh\necho \"linted $PWD $*\"\ncase \"$PWD $*\" in */tools\\ * | *\\ ./bench/*) exit 3 ;; esac\n"
	if err := os.WriteFile(linter, []byte(stub), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "../../scripts/lint.sh")
	cmd.Env = append(os.Environ(), "LINTER="+linter)
	out, err := cmd.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err == nil || !strings.HasSuffix(strings.Join(lines, "\n"), "\nlint: failed: the modules; tools;") {
		t.Errorf("got %v and\n%s\nwant a failure of the modules and of tools", err, out)
	}
	want := []string{" ./... ", "/tools run ./...", " ./bench/...", " ./directory/etcd/...", " ./bridge/..."}
	if _, err := exec.LookPath("gcc"); err == nil {
		want = append(want, " ./cmd/libtagbus/core")
		if exec.CommandContext(t.Context(), "pkg-config", "--exists", "libfabric").Run() == nil {
			want = append(want, ",libfabric ", " ./netio/rdma ", " ./netio/rdma/internal/fi ", " ./node")
		}
	}
	for _, looked := range want {
		if !strings.Contains(string(out), looked) {
			t.Errorf("got\n%s\nwant a run of%s", out, looked)
		}
	}
}
