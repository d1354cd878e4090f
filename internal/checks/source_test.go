// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// source is what the Go files of a module declare, as far as documents name it:
// those of all build variants, by their text.
type source struct {
	tests    map[string][]string        // functions that `go test` runs → directories
	literals map[string]map[string]bool // directory → strings in its tests, of which subtests take their names
	checks   map[string]bool            // names of the checks of the conformance suite
	api      map[string]bool            // package.Name and package.Name.Member, exported
	named    map[string]bool            // package.Name in tests
}

// notOurs are folders that git ignores: a release, a site, and what go mod vendor and npm write.
var notOurs = []string{"build/site", "dist", "vendor", "test/web/node_modules", "tools/docs/node_modules"}

// readSource parses the Go files of a module, without what belongs to another
// module or to testdata.
func readSource(t *testing.T, module fs.FS) *source {
	t.Helper()
	s := &source{
		tests: make(map[string][]string), literals: make(map[string]map[string]bool),
		checks: make(map[string]bool), api: make(map[string]bool), named: make(map[string]bool),
	}
	err := fs.WalkDir(module, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != ".":
			_, err := fs.Stat(module, path.Join(name, "go.mod"))
			if err == nil || slices.Contains(notOurs, name) || entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
		case strings.HasSuffix(name, ".go"):
			return s.readFile(module, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// suites are the packages that have tests and are none of _test.go.
var suites = []string{"netio/netiotest", "internal/testkit/backendtest", "bus/directory/directorytest", "durable/durabletest"}

func (s *source) readFile(module fs.FS, name string) error {
	text, err := fs.ReadFile(module, name)
	if err != nil {
		return err
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	isTest := strings.HasSuffix(name, "_test.go")
	// That each error is in the table of hostile_test.go says nothing of when it comes.
	if isTest && name != "hostile_test.go" || slices.Contains(suites, dir) {
		s.readNamed(file)
	}
	switch {
	case isTest:
		s.readTest(dir, file)
	case dir == "netio/netiotest":
		s.readChecks(file)
		fallthrough
	default:
		for _, d := range file.Decls {
			s.readAPI(file.Name.Name, d)
		}
	}
	return nil
}

// run are the names of functions that `go test` runs.
var run = regexp.MustCompile(`^(Test|Example|Fuzz|Benchmark)([^a-z]|$)`)

func (s *source) readTest(dir string, file *ast.File) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && run.MatchString(f.Name.Name) && f.Name.Name != "TestMain" {
			s.tests[f.Name.Name] = append(s.tests[f.Name.Name], dir)
		}
	}
	if s.literals[dir] == nil {
		s.literals[dir] = make(map[string]bool)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if text, ok := stringOf(n); ok {
			s.literals[dir][text] = true
		}
		return true
	})
}

// readChecks finds the tables of checks: variables of the package made of
// []check{{"name", function}, …}.
func (s *source) readChecks(file *ast.File) {
	for _, d := range file.Decls {
		ast.Inspect(d, func(n ast.Node) bool {
			list, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			if array, ok := list.Type.(*ast.ArrayType); !ok || nameOf(array.Elt) != "check" {
				return true
			}
			for _, element := range list.Elts {
				if check, ok := element.(*ast.CompositeLit); ok && len(check.Elts) > 0 {
					if name, ok := stringOf(check.Elts[0]); ok {
						s.checks[name] = true
					}
				}
			}
			return false
		})
	}
}

// readAPI adds what a declaration exports.
func (s *source) readAPI(pkg string, declaration ast.Decl) {
	add := func(parts ...string) {
		if !slices.ContainsFunc(parts, func(p string) bool { return !ast.IsExported(p) }) {
			s.api[pkg+"."+strings.Join(parts, ".")] = true
		}
	}
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			add(d.Name.Name)
		} else {
			add(nameOf(d.Recv.List[0].Type), d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch spec := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range spec.Names {
					add(name.Name)
				}
			case *ast.TypeSpec:
				add(spec.Name.Name)
				for _, member := range members(spec.Type) {
					add(spec.Name.Name, member)
				}
			}
		}
	}
}

// members returns the names of the fields of a struct or the methods of an
// interface.
func members(of ast.Expr) (names []string) {
	var fields *ast.FieldList
	switch of := of.(type) {
	case *ast.StructType:
		fields = of.Fields
	case *ast.InterfaceType:
		fields = of.Methods
	default:
		return nil
	}
	for _, field := range fields.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
		if len(field.Names) == 0 {
			names = append(names, nameOf(field.Type)) // embedded
		}
	}
	return names
}

// nameOf returns the name of a type, without its package, pointer and parameters.
func nameOf(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.Ident:
		return t.Name
	case *ast.StarExpr:
		return nameOf(t.X)
	case *ast.SelectorExpr:
		return t.Sel.Name
	case *ast.IndexExpr:
		return nameOf(t.X)
	default:
		return ""
	}
}

func stringOf(n ast.Node) (string, bool) {
	literal, ok := n.(*ast.BasicLit)
	if !ok || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}

// findTest returns an error if there is no such test: a function, one of a
// directory ("examples/hello.TestOutput") if several have it, and the name of a
// subtest behind a slash. A conformance check is "suite: name".
func (s *source) findTest(reference string) error {
	if name, ok := strings.CutPrefix(reference, "suite: "); ok {
		if !s.checks[name] {
			return errors.New("the conformance suite has no check " + strconv.Quote(name))
		}
		return nil
	}
	parts := testReference.FindStringSubmatch(reference)
	if parts == nil {
		return errors.New(strconv.Quote(reference) + " is neither a test nor a \"suite: \" with the name of a check")
	}
	dir, function, subtest := parts[1], parts[2], parts[3]
	dirs := s.tests[function]
	switch {
	case len(dirs) == 0 || dir != "" && !slices.Contains(dirs, dir):
		return errors.New("there is no test " + strings.TrimPrefix(dir+"."+function, "."))
	case dir == "" && len(dirs) > 1:
		return errors.New("several directories have " + function + ": write which, as in " + dirs[0] + "." + function)
	case dir == "":
		dir = dirs[0]
	}
	if subtest != "" && !s.literals[dir][subtest] {
		return errors.New(function + " has no subtest " + strconv.Quote(subtest))
	}
	return nil
}

// testReference is a directory and a dot, or not, the name of a function, and a
// slash and the name of a subtest, or not.
var testReference = regexp.MustCompile(`^(?:([a-z0-9/_]+)\.)?((?:Test|Example|Fuzz|Benchmark)\w*)(?:/(.+))?$`)

// findAPI returns an error if no package exports the name: "package.Name",
// "package.Name.Member", or the same without package for those of netio.
func (s *source) findAPI(reference string) error {
	if ast.IsExported(reference) {
		reference = "netio." + reference
	}
	if !s.api[reference] {
		return errors.New("no package exports " + reference)
	}
	return nil
}

// module is the source of this module.
func module(t *testing.T) *source {
	t.Helper()
	return readSource(t, os.DirFS("."))
}
