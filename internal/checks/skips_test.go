// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSkipsUnderTheRaceDetectorAreAllowed: otherwise only the last steps of CI find a reason
// that scripts/allowed-skips.txt does not list.
func TestSkipsUnderTheRaceDetectorAreAllowed(t *testing.T) {
	inRoot(t)
	allowed := allowedSkips(t)
	found := 0
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (slices.Contains(notOurs, name) || entry.Name() == "testdata" || name != "." && strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case !strings.HasSuffix(name, "_test.go"):
			return nil
		}
		for _, reason := range skipsUnderRace(t, name) {
			found++
			if !slices.ContainsFunc(allowed, func(r *regexp.Regexp) bool { return r.MatchString(reason) }) {
				t.Errorf("%s: the reason %q matches no line of scripts/allowed-skips.txt", name, reason)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 10 {
		t.Errorf("reasons found: %d, want those of all tests that are skipped under the race detector", found)
	}
}

func allowedSkips(t *testing.T) (all []*regexp.Regexp) {
	t.Helper()
	text, err := os.ReadFile("scripts/allowed-skips.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, regexp.MustCompile(line))
		}
	}
	return all
}

// skipsUnderRace returns the reasons that a file gives to Skip in branches on a constant Race.
func skipsUnderRace(t *testing.T, name string) (reasons []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		branch, ok := n.(*ast.IfStmt)
		if !ok || !names(branch.Cond, "Race") {
			return true
		}
		ast.Inspect(branch.Body, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && names(call.Fun, "Skip") && len(call.Args) > 0 {
				if reason, ok := stringOf(call.Args[0]); ok {
					reasons = append(reasons, reason)
				}
			}
			return true
		})
		return true
	})
	return reasons
}

// names reports whether an expression has a selector of this name.
func names(expression ast.Expr, name string) (found bool) {
	ast.Inspect(expression, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		found = found || ok && selector.Sel.Name == name
		return true
	})
	return found
}
