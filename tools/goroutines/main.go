// SPDX-License-Identifier: Apache-2.0

// Command goroutines prints those of some packages whose tests start goroutines or programs,
// a line each, in the order of go list: in the others the race detector has nothing to find.
// Arguments are flags and packages for go list, in the module of the current directory.
//
// Neither the files of a package, nor its tests, nor the packages of the module that these
// need may have a go statement, or name what starts goroutines for them.
//
// With -alike as the first argument it leaves out those whose tests do something else in the usual
// build: whose files ask whether the race detector is on or the invariants are checked.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "goroutines:", err)
		os.Exit(1)
	}
}

// starters are methods and functions that start goroutines, of whatever package.
var starters = []string{"Go", "AfterFunc", "Parallel", "RunParallel", "ServeHTTP", "Serve"}

// starting are packages that start goroutines, or programs, for those that import them.
var starting = []string{"net/http", "net/http/httptest", "os/exec", "os/signal", "testing/synctest", "golang.org/x/sync/errgroup"}

// listed is what go list says of a package.
type listed struct {
	ImportPath, Dir                    string
	GoFiles, CgoFiles                  []string
	TestGoFiles, XTestGoFiles          []string
	Imports, TestImports, XTestImports []string
	Module                             *struct{ Main bool }
}

func run(args []string, out io.Writer) error {
	alike := len(args) > 0 && args[0] == "-alike"
	if alike {
		args = args[1:]
	}
	wanted, err := list(args)
	if err != nil {
		return err
	}
	paths := make([]string, len(wanted))
	for i, p := range wanted {
		paths[i] = p.ImportPath
	}
	all, err := list(append([]string{"-deps", "-test"}, args...))
	if err != nil {
		return err
	}
	ours := make(map[string]*listed)
	for _, p := range all {
		if p.Module != nil && p.Module.Main {
			ours[p.ImportPath] = p
		}
	}
	starting := looker{ours, make(map[string]bool), starts, starts}
	asking := looker{ours, make(map[string]bool), asksForRace, asks}
	for _, p := range wanted {
		found, err := starting.tests(p)
		if err != nil {
			return err
		}
		if found && alike {
			other, err := asking.tests(p)
			if err != nil {
				return err
			}
			found = !other
		}
		if found {
			fmt.Fprintln(out, p.ImportPath)
		}
	}
	return nil
}

// list asks go list.
func list(args []string) (all []*listed, err error) {
	fields := "-json=ImportPath,Dir,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports,Module"
	cmd := exec.Command("go", append([]string{"list", fields}, args...)...)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(pipe)
	for {
		p := new(listed)
		if err := decoder.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, cmd.Wait()
}

// looker looks for something in packages of the module, in each once.
type looker struct {
	packages map[string]*listed
	known    map[string]bool
	file     func(*ast.File) bool // reports whether a file of a package has it
	test     func(*ast.File) bool // reports whether a file of tests has it
}

// tests reports whether the tests of a package have what is looked for.
func (l *looker) tests(p *listed) (bool, error) {
	if found, err := l.anywhere(p.ImportPath); found || err != nil {
		return found, err
	}
	for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
		if found, err := l.anywhere(path); found || err != nil {
			return found, err
		}
	}
	return anyHas(l.test, p.Dir, slices.Concat(p.TestGoFiles, p.XTestGoFiles))
}

// anywhere reports whether a package has what is looked for, or one of those that it needs.
func (l *looker) anywhere(path string) (found bool, err error) {
	p := l.packages[path]
	if p == nil {
		return false, nil
	}
	if found, ok := l.known[path]; ok {
		return found, nil
	}
	defer func() { l.known[path] = found }()
	for _, other := range p.Imports {
		if found, err := l.anywhere(other); found || err != nil {
			return found, err
		}
	}
	return anyHas(l.file, p.Dir, slices.Concat(p.GoFiles, p.CgoFiles))
}

// anyHas reports whether one of some files has what is looked for.
func anyHas(has func(*ast.File) bool, dir string, names []string) (bool, error) {
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		if has(file) {
			return true, nil
		}
	}
	return false, nil
}

// starts reports whether a file starts goroutines.
func starts(file *ast.File) (found bool) {
	for _, spec := range file.Imports {
		if path, _ := strconv.Unquote(spec.Path.Value); slices.Contains(starting, path) {
			return true
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.SelectorExpr:
			found = found || slices.Contains(starters, n.Sel.Name)
		}
		return !found
	})
	return found
}

// asks reports whether a file of tests asks in which build it is.
func asks(file *ast.File) bool { return asksForRace(file) || names(file, "invariants", "") }

// asksForRace reports whether a file asks whether the race detector is on.
func asksForRace(file *ast.File) bool {
	return names(file, "testkit", "Race") || names(file, "testkit", "Fewer")
}

// names reports whether a file names something of a package; "" is anything.
func names(file *ast.File, pkg, name string) (found bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && (name == "" || s.Sel.Name == name) {
			x, ok := s.X.(*ast.Ident)
			found = found || ok && x.Name == pkg
		}
		return !found
	})
	return found
}
