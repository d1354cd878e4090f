// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// unit is what is measured of a package, or of several.
type unit struct {
	name      string
	files     []int // lines of each, without tests
	functions []int // lines of each

	exported, documented int // names
	tests, external      int // lines of test files, and of those outside the package
	tells                int // times that a comment or a document says "tells whether"
}

// add adds what is measured of a part.
func (u *unit) add(part *unit) {
	u.files = append(u.files, part.files...)
	u.functions = append(u.functions, part.functions...)
	u.exported += part.exported
	u.documented += part.documented
	u.tests += part.tests
	u.external += part.external
	u.tells += part.tells
}

// lines returns how many lines the files have together.
func (u *unit) lines() (sum int) {
	for _, n := range u.files {
		sum += n
	}
	return sum
}

// measure reads a module and returns its packages by their directories, ascending;
// "." has what documents say.
func measure(module fs.FS) ([]*unit, error) {
	var all []*unit
	err := fs.WalkDir(module, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != ".":
			_, err := fs.Stat(module, path.Join(name, "go.mod"))
			if err == nil || entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
		case strings.HasSuffix(name, ".go"):
			text, err := fs.ReadFile(module, name)
			if err != nil {
				return err
			}
			return find(&all, path.Dir(name)).read(name, text)
		case strings.HasSuffix(name, ".md") && name != "CHANGELOG.md":
			text, err := fs.ReadFile(module, name)
			if err != nil {
				return err
			}
			find(&all, ".").tells += count(text)
		}
		return nil
	})
	slices.SortFunc(all, func(a, b *unit) int { return strings.Compare(a.name, b.name) })
	return all, err
}

func find(all *[]*unit, name string) *unit {
	i := slices.IndexFunc(*all, func(u *unit) bool { return u.name == name })
	if i < 0 {
		i = len(*all)
		*all = append(*all, &unit{name: name})
	}
	return (*all)[i]
}

// read measures a file.
func (u *unit) read(name string, text []byte) error {
	positions := token.NewFileSet()
	file, err := parser.ParseFile(positions, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(file) {
		return nil
	}
	lines := bytes.Count(text, []byte("\n"))
	for _, c := range file.Comments {
		u.tells += count([]byte(c.Text()))
	}
	if strings.HasSuffix(name, "_test.go") {
		u.tests += lines
		if strings.HasSuffix(file.Name.Name, "_test") {
			u.external += lines
		}
		return nil
	}
	u.files = append(u.files, lines)
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			begin, end := positions.Position(d.Pos()), positions.Position(d.End())
			u.functions = append(u.functions, end.Line-begin.Line+1)
			if d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type)) {
				u.named(d.Name, d.Doc != nil)
			}
		case *ast.GenDecl:
			u.readNames(d)
		}
	}
	return nil
}

// readNames counts the names of a declaration. The comment of a group documents all
// that is in it.
func (u *unit) readNames(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			u.named(spec.Name, d.Doc != nil || spec.Doc != nil || spec.Comment != nil)
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				u.named(name, d.Doc != nil || spec.Doc != nil || spec.Comment != nil)
			}
		}
	}
}

func (u *unit) named(name *ast.Ident, documented bool) {
	if !name.IsExported() {
		return
	}
	u.exported++
	if documented {
		u.documented++
	}
}

// receiver returns the name of the type of a receiver.
func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	default:
		return ""
	}
}

// tellsWhether is what Go's own comments call "reports whether".
var tellsWhether = regexp.MustCompile(`(?i)\b(tells|says)\s+whether\b`)

func count(text []byte) int { return len(tellsWhether.FindAllIndex(text, -1)) }
