// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// shape is how the files of a package use each other, and how large its types are.
type shape struct {
	arrows, back int // pairs of files of which one uses the other; of those, up in the best order that was found
	types        []typeShape
}

// typeShape is a struct type.
type typeShape struct {
	name            string
	fields, methods int
}

// shapeOf measures a package of the module in a directory; nil if it has no such package.
func shapeOf(root, pkg string) (*shape, error) {
	dir := filepath.Join(root, filepath.FromSlash(pkg))
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			f, err := parser.ParseFile(files, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			parsed = append(parsed, f)
		}
	}
	exports, err := exportsOf(root, "./"+pkg)
	if err != nil {
		return nil, err
	}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	checked, err := config.Check(pkg, files, parsed, info)
	if err != nil {
		return nil, err
	}
	g := graph(files, parsed, checked, info)
	s := &shape{back: g.back(g.best())}
	for _, uses := range g {
		for _, n := range uses {
			s.arrows += n
		}
	}
	for _, name := range checked.Scope().Names() {
		if named, ok := checked.Scope().Lookup(name).Type().(*types.Named); ok {
			if of, ok := named.Underlying().(*types.Struct); ok {
				s.types = append(s.types, typeShape{name, of.NumFields(), named.NumMethods()})
			}
		}
	}
	slices.SortFunc(s.types, func(a, b typeShape) int {
		return cmp.Or(cmp.Compare(b.fields+b.methods, a.fields+a.methods), cmp.Compare(a.name, b.name))
	})
	return s, nil
}

// exportsOf returns the files with what the packages export on which one depends.
func exportsOf(root, pkg string) (map[string]string, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export", pkg)
	list.Dir, list.Stderr = root, os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	exports := make(map[string]string)
	for in := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		switch err := in.Decode(&p); {
		case errors.Is(err, io.EOF):
			return exports, nil
		case err != nil:
			return nil, err
		}
		exports[p.ImportPath] = p.Export
	}
}

// uses has, for each file and each other one, 1 if the first uses a name, a field or a
// method of the second.
type uses [][]int

func graph(files *token.FileSet, parsed []*ast.File, pkg *types.Package, info *types.Info) uses {
	index := make(map[string]int)
	for i, f := range parsed {
		index[files.Position(f.Pos()).Filename] = i
	}
	g := make(uses, len(parsed))
	for i := range g {
		g[i] = make([]int, len(parsed))
	}
	for id, object := range info.Uses {
		switch o := object.(type) {
		case *types.Var:
			object = o.Origin()
		case *types.Func:
			object = o.Origin()
		}
		if object.Pkg() != pkg || object.Parent() != nil && object.Parent() != pkg.Scope() {
			continue // of another package, or a variable of a function
		}
		from, to := index[files.Position(id.Pos()).Filename], index[files.Position(object.Pos()).Filename]
		if from != to {
			g[from][to] = 1
		}
	}
	return g
}

// back returns how many arrows lead up in an order of the files.
func (g uses) back(order []int) (n int) {
	for i, file := range order {
		for _, above := range order[:i] {
			n += g[file][above]
		}
	}
	return n
}

// best returns an order of the files with few arrows up. It begins with many orders, the
// same in each call, and moves one file at a time.
func (g uses) best() (best []int) {
	const tries = 60
	random := rand.New(rand.NewPCG(1, 1))
	for range tries {
		order := random.Perm(len(g))
		for g.improve(order) {
		}
		if best == nil || g.back(order) < g.back(best) {
			best = order
		}
	}
	return best
}

// improve moves each file to where it has the fewest arrows up, and reports whether that
// has changed something.
func (g uses) improve(order []int) (improved bool) {
	for i := range order {
		file, to, least := order[i], i, 0
		change := 0
		for j := i - 1; j >= 0; j-- {
			if change += g[order[j]][file] - g[file][order[j]]; change < least {
				to, least = j, change
			}
		}
		change = 0
		for j := i + 1; j < len(order); j++ {
			if change += g[file][order[j]] - g[order[j]][file]; change < least {
				to, least = j, change
			}
		}
		if to != i {
			improved = true
			copy(order[i:], order[i+1:])
			copy(order[to+1:], order[to:len(order)-1])
			order[to] = file
		}
	}
	return improved
}
