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

// reports are the methods of a test that panic, or are lost, after its end.
var reports = []string{"Error", "Errorf", "Fail", "FailNow", "Fatal", "Fatalf", "Log", "Logf", "Skip", "Skipf", "SkipNow", "Cleanup", "TempDir", "Setenv"}

// TestGoroutinesOfTestsAreAwaited: one that reports to a test which has ended makes the whole
// package fail, on a slow machine, and names another test.
func TestGoroutinesOfTestsAreAwaited(t *testing.T) {
	inRoot(t)
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "node_modules" || name != "." && strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, "_test.go") && !strings.Contains(filepath.Dir(name), "test") || !strings.HasSuffix(name, ".go"):
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, at := range unawaited(file) {
			t.Errorf("%s: this goroutine reports to the test, which nothing makes wait for it: let it close a channel, or send to one, that the test receives from, or Wait for its group", set.Position(at))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestUnawaited(t *testing.T) {
	for _, test := range []struct {
		body string
		want int
	}{
		{`go func() { t.Error("x") }()`, 1},
		{`go func() { must(t, f()) }()`, 1},
		{`go f(t, 1)`, 1},
		{`go func() { t.Context(); f(t.Context()) }()`, 0},
		{`time.AfterFunc(1, func() { must(t, f()) })`, 1},
		{`done := make(chan int); go func() { defer close(done); t.Error("x") }()`, 1},
		{`done := make(chan int); go func() { defer close(done); t.Error("x") }(); <-done`, 0},
		{`done := make(chan int); go func() { t.Error("x"); done <- 1 }(); await(t, done)`, 0},
		{`var wg sync.WaitGroup; wg.Go(func() { t.Error("x") })`, 1},
		{`var wg sync.WaitGroup; wg.Go(func() { t.Error("x") }); wg.Wait()`, 0},
		{`s.running.Go(func() { t.Error("x") }); t.Cleanup(s.running.Wait)`, 0},
		{`s.running.Go(func() { t.Error("x") }); s.other.Wait()`, 1},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x_test.go", "package x\nfunc f(t *testing.T) { "+test.body+" }", parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := unawaited(file); len(got) != test.want {
			t.Errorf("%s: got %d, want %d", test.body, len(got), test.want)
		}
	}
}

// unawaited returns where goroutines begin that report to a test, as far as their own text says, without
// anything in the function around them that waits for them.
func unawaited(file *ast.File) (found []token.Pos) {
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.GoStmt:
				if lit, ok := x.Call.Fun.(*ast.FuncLit); ok && reportsTo(lit.Body) && !signals(lit.Body, f.Body) || !ok && hasTest(x.Call.Args) {
					found = append(found, x.Pos())
				}
			case *ast.CallExpr:
				method, ok := x.Fun.(*ast.SelectorExpr)
				if !ok || len(x.Args) == 0 {
					return true
				}
				lit, ok := x.Args[len(x.Args)-1].(*ast.FuncLit)
				switch {
				case !ok || !reportsTo(lit.Body):
				case method.Sel.Name == "Go" && !waits(f.Body, textOf(method.X)) && !signals(lit.Body, f.Body),
					method.Sel.Name == "AfterFunc" && !signals(lit.Body, f.Body):
					found = append(found, x.Pos())
				}
			}
			return true
		})
	}
	return found
}

// reportsTo reports whether a body has a call that reports to a test, or gives it to another function.
func reportsTo(body ast.Node) (does bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			method, ok := call.Fun.(*ast.SelectorExpr)
			does = does || hasTest(call.Args) || ok && isTest(method.X) && slices.Contains(reports, method.Sel.Name)
		}
		return !does
	})
	return does
}

func hasTest(args []ast.Expr) bool { return slices.ContainsFunc(args, isTest) }

// isTest reports whether something is the test, by its usual names.
func isTest(x ast.Expr) bool {
	name, ok := x.(*ast.Ident)
	return ok && (name.Name == "t" || name.Name == "tb")
}

// signals reports whether a body closes a channel, or sends to one, that is received from, or handed on,
// somewhere in the function around it.
func signals(body, around ast.Node) bool {
	var channels []string
	ast.Inspect(body, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.SendStmt:
			channels = append(channels, textOf(x.Chan))
		case *ast.CallExpr:
			if name, ok := x.Fun.(*ast.Ident); ok && name.Name == "close" && len(x.Args) == 1 {
				channels = append(channels, textOf(x.Args[0]))
			}
		}
		return true
	})
	does := false
	ast.Inspect(around, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.UnaryExpr:
			does = does || x.Op == token.ARROW && slices.Contains(channels, textOf(x.X))
		case *ast.RangeStmt:
			does = does || slices.Contains(channels, textOf(x.X))
		case *ast.CallExpr:
			if name, ok := x.Fun.(*ast.Ident); !ok || name.Name != "close" {
				does = does || slices.ContainsFunc(x.Args, func(arg ast.Expr) bool { return slices.Contains(channels, textOf(arg)) })
			}
		case *ast.ReturnStmt:
			does = does || slices.ContainsFunc(x.Results, func(r ast.Expr) bool { return slices.Contains(channels, textOf(r)) })
		}
		return !does
	})
	return does
}

// waits reports whether a function has the method Wait of a group.
func waits(body ast.Node, group string) (does bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if method, ok := n.(*ast.SelectorExpr); ok && method.Sel.Name == "Wait" {
			does = does || textOf(method.X) == group
		}
		return !does
	})
	return does
}

// textOf returns the text of a name, with those in front of it; empty: it is something else.
func textOf(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		if of := textOf(x.X); of != "" {
			return of + "." + x.Sel.Name
		}
	}
	return ""
}
