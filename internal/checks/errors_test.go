// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"go/ast"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestATestNamesEachError: an error that callers tell apart is one that a test
// has seen.
func TestATestNamesEachError(t *testing.T) {
	inRoot(t)
	for _, s := range []*source{module(t), readSource(t, os.DirFS("directory/etcd")), readSource(t, os.DirFS("bridge"))} {
		for _, name := range s.untested() {
			t.Errorf("no test names %s", name)
		}
	}
}

// untested returns the exported errors that no test names, as package.Name.
func (s *source) untested() []string {
	names := make(map[string]bool)
	for name := range s.api {
		if of, isMethod := strings.CutSuffix(name, ".Error"); isMethod && strings.Contains(of, ".") {
			names[of] = true
		} else if sentinel.MatchString(name) {
			names[name] = true
		}
	}
	maps.DeleteFunc(names, func(name string, _ bool) bool { return s.named[name] })
	return slices.Sorted(maps.Keys(names))
}

var sentinel = regexp.MustCompile(`^\w+\.Err[A-Z]\w*$`)

// readNamed notes the names of a file of tests: those of other packages as they
// are written, its own with its package.
func (s *source) readNamed(file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok {
				s.named[of.Name+"."+n.Sel.Name] = true
			}
		case *ast.Ident:
			s.named[file.Name.Name+"."+n.Name] = true
		}
		return true
	})
}

func TestUntested(t *testing.T) {
	module := fstest.MapFS{
		"a/a.go": {Data: []byte(`package a
// ErrComment is named in a comment.
var ErrNamed, ErrInside, ErrComment, errOwn error
type ErrorCount int
type NamedError struct{}
func (*NamedError) Error() string { return "" }
type OtherError struct{}
func (OtherError) Error() string { return "" }
`)},
		"b/b.go": {Data: []byte(`package b
import "a"
var ErrNamed = a.ErrNamed
`)},
		"a/a_test.go": {Data: []byte(`package a
func TestA() { _ = ErrInside }
`)},
		"a/x_test.go": {Data: []byte(`package a_test
func TestX() { _ = a.ErrNamed; var _ *a.NamedError } // a.ErrComment
`)},
	}
	want := []string{"a.ErrComment", "a.OtherError", "b.ErrNamed"}
	if diff := cmp.Diff(want, readSource(t, module).untested()); diff != "" {
		t.Errorf("untested (-want +got):\n%s", diff)
	}
}
