// SPDX-License-Identifier: Apache-2.0

// Command goroutines prints those of some packages whose tests start goroutines or programs,
// a line each, in the order of go list: in the others the race detector has nothing to find.
// Arguments are flags and packages for go list, in the module of the current directory.
//
// Neither the files of a package, nor its tests, nor the packages of the module that these
// need may have a go statement, or name what starts goroutines for them.
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
	l := looker{packages: make(map[string]*listed), known: make(map[string]bool)}
	for _, p := range all {
		if p.Module != nil && p.Module.Main {
			l.packages[p.ImportPath] = p
		}
	}
	for _, p := range wanted {
		starts, err := l.tests(p)
		if err != nil {
			return err
		}
		if starts {
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

// looker looks at packages of the module, each once.
type looker struct {
	packages map[string]*listed
	known    map[string]bool
}

// tests reports whether the tests of a package start goroutines.
func (l *looker) tests(p *listed) (bool, error) {
	if starts, err := l.anywhere(p.ImportPath); starts || err != nil {
		return starts, err
	}
	for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
		if starts, err := l.anywhere(path); starts || err != nil {
			return starts, err
		}
	}
	return anyStarts(p.Dir, slices.Concat(p.TestGoFiles, p.XTestGoFiles))
}

// anywhere reports whether a package starts goroutines, or one of those that it needs.
func (l *looker) anywhere(path string) (starts bool, err error) {
	if slices.Contains(starting, path) {
		return true, nil
	}
	p := l.packages[path]
	if p == nil {
		return false, nil
	}
	if starts, ok := l.known[path]; ok {
		return starts, nil
	}
	defer func() { l.known[path] = starts }()
	for _, other := range p.Imports {
		if starts, err := l.anywhere(other); starts || err != nil {
			return starts, err
		}
	}
	return anyStarts(p.Dir, slices.Concat(p.GoFiles, p.CgoFiles))
}

// anyStarts reports whether one of some files starts goroutines.
func anyStarts(dir string, names []string) (bool, error) {
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		if starts(file) {
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
