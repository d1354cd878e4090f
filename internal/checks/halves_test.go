// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tagbus/internal/testkit"
)

// room is a part of package bus, whose files the compiler does not keep apart.
type room struct {
	name  string
	files *regexp.Regexp
	uses  []string // other rooms
}

// rooms are those of package bus, from the top to the bottom. The first one whose
// pattern matches has a file.
var rooms = []room{
	{"requests", regexp.MustCompile(`^requester\.go$`), []string{"publisher", "subscriber", "common"}},
	{"publisher", regexp.MustCompile(
		`^(publish|link|sender)|^(account|outlet|ownership)\.go$`,
	), []string{"common"}},
	{"subscriber", regexp.MustCompile(
		`^(source|subscri|receiver)|^dispatch\.go$`,
	), []string{"common"}},
	{"common", regexp.MustCompile(``), nil},
}

func roomOf(file string) *room {
	i := slices.IndexFunc(rooms, func(r room) bool { return r.files.MatchString(file) })
	return &rooms[i]
}

// TestRooms keeps the publisher's half of package bus and the subscriber's apart: neither
// uses a name, a field or a method of the other, and what both have in common uses
// nothing of them.
func TestRooms(t *testing.T) {
	inRoot(t)
	files := token.NewFileSet()
	pkg, info := checkBus(t, files)
	fileOf := func(at token.Pos) string { return filepath.Base(files.Position(at).Filename) }
	found := make(map[string]bool)
	for id, object := range info.Uses {
		if object = origin(object); object.Pkg() != pkg || object.Parent() != nil && object.Parent() != pkg.Scope() {
			continue // of another package, or a variable of a function
		}
		user, owner := roomOf(fileOf(id.Pos())), roomOf(fileOf(object.Pos()))
		if user != owner && !slices.Contains(user.uses, owner.name) {
			found[fmt.Sprintf("%s (%s) uses %s of %s (%s)", fileOf(id.Pos()), user.name, object.Name(), fileOf(object.Pos()), owner.name)] = true
		}
	}
	for use := range found {
		t.Error(use)
	}
}

// origin returns the declaration of a field or method of a generic type.
func origin(object types.Object) types.Object {
	switch object := object.(type) {
	case *types.Var:
		return object.Origin()
	case *types.Func:
		return object.Origin()
	}
	return object
}

// checkBus type-checks package bus, without its tests.
func checkBus(t *testing.T, files *token.FileSet) (*types.Package, *types.Info) {
	t.Helper()
	parsed, err := parser.ParseDir(files, "bus", func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }, 0) //nolint:staticcheck // bus has no build tags
	if err != nil {
		t.Fatal(err)
	}
	var list []*ast.File
	for _, f := range parsed["bus"].Files {
		list = append(list, f)
	}
	exports := exportsOf(t, "./bus")
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	pkg, err := config.Check("tagbus/bus", files, list, info)
	if err != nil {
		t.Fatal(err)
	}
	return pkg, info
}

// exportsOf returns the files with what the packages export on which one depends, by
// their paths.
func exportsOf(t *testing.T, pkg string) map[string]string {
	t.Helper()
	testkit.DependsOnTree()
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export", pkg).Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := make(map[string]string)
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		err := in.Decode(&p)
		if errors.Is(err, io.EOF) {
			return exports
		}
		if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
	}
}
