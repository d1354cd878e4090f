// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// waitedFor are the calls that may wait for ever for a file system that does not answer, by
// package. In their place there are those of package stuck, which say so and let a signal end
// the program.
var waitedFor = map[string][]string{
	"os": {
		"Chmod", "Chown", "Chtimes", "Create", "CreateTemp", "DirFS", "Link", "Lstat", "Mkdir", "MkdirAll", "MkdirTemp", "Open", "OpenFile",
		"OpenInRoot", "OpenRoot", "ReadDir", "ReadFile", "Readlink", "Remove", "RemoveAll", "Rename", "Stat", "Symlink", "Truncate", "WriteFile",
	},
	"filepath": {"EvalSymlinks", "Glob", "Walk", "WalkDir"},
	"tls":      {"LoadX509KeyPair"},
	"toml":     {"DecodeFile"},
	"syscall":  {"Access", "Open", "Stat", "Lstat", "Statfs", "Unlink", "Rename", "Mkdir"},
	"unix":     {"Access", "Open", "Openat", "Stat", "Lstat", "Statfs", "Unlink", "Rename", "Mkdir"},
}

// waitsElsewhere are the files, or folders, with such calls, and why they may have them.
var waitsElsewhere = map[string]string{
	"internal/stuck":                        "these are the calls that say so",
	"internal/signals/signals_linux.go":     "/dev/tty",
	"bridge/internal/kafkaserver":           "for tests",
	"bridge/internal/killable":              "for tests",
	"bridge/in/position_file.go":            "noted by stuck.On and stuck.Aside beside it: the program ends without what is stored",
	"bridge/internal/natsserver":            "for tests",
	"cmd/internal/top/top.go":               "/dev/tty",
	"cmd/internal/stateapi/guard.go":        "/etc/resolv.conf",
	"cmd/internal/check/check.go":           "/proc and /sys",
	"cmd/internal/check/folder.go":          "runs aside, and the check says itself that the folder does not answer",
	"cmd/internal/pagefiles/pagefiles.go":   "makes the pages of a release",
	"cmd/internal/bench/alone.go":           "a folder of its own in that for temporary files",
	"cmd/internal/recorder/files.go":        "each call is noted by folder.waits, under the name that the file is to get",
	"directory/etcd/internal/door/users.go": "/proc",
	"directory/etcd/internal/embedded":      "for tests",
	"directory/etcd/member/control.go":      "noted by stuck.On beside it",
}

// TestFilesAreWaitedForInOnePlace: a command that opens a file by itself says nothing while the
// server of its file system is away, and obeys no signal.
func TestFilesAreWaitedForInOnePlace(t *testing.T) {
	inRoot(t)
	used := make(map[string]bool)
	for _, root := range []string{"access", "acl", "bridge", "cmd", "directory/etcd", "identity", "internal", "node", "recording"} {
		err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "testkit" || strings.HasSuffix(entry.Name(), "test")):
				return fs.SkipDir
			case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			calls := callsThatWait(t, name)
			for _, allowed := range []string{name, filepath.Dir(name)} {
				if waitsElsewhere[allowed] != "" {
					used[allowed] = used[allowed] || len(calls) > 0
					calls = nil
				}
			}
			for _, call := range calls {
				t.Errorf("%s: use that of package stuck, or give a reason in waits_test.go", call)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range waitsElsewhere {
		if !used[name] {
			t.Errorf("%s has no such call: it needs no exception", name)
		}
	}
}

// callsThatWait returns the uses of such calls in a file, with their places.
func callsThatWait(t *testing.T, name string) (found []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if of, ok := selector.X.(*ast.Ident); ok && slices.Contains(waitedFor[of.Name], selector.Sel.Name) {
			found = append(found, set.Position(selector.Pos()).String()+": "+of.Name+"."+selector.Sel.Name)
		}
		return true
	})
	return found
}
