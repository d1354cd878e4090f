// SPDX-License-Identifier: Apache-2.0

package libtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/clib"
)

// TestEveryExportRecovers: no panic goes through the stack of a program in C.
func TestEveryExportRecovers(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(clib.Root(t), "cmd/libtagbus/core/*.go"))
	testkit.Must(t, err)
	exports := 0
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		testkit.Must(t, err)
		for _, d := range tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Doc == nil || !strings.Contains(comments(f.Doc), "//export ") {
				continue
			}
			exports++
			if !recovers(f.Body) {
				t.Errorf("%s: %s does not defer survive, panicked or panickedOpening", filepath.Base(file), f.Name.Name)
			}
		}
	}
	if exports < 35 {
		t.Errorf("found %d exports", exports)
	}
}

func comments(g *ast.CommentGroup) (text string) {
	for _, c := range g.List {
		text += c.Text + "\n"
	}
	return text
}

// recovers reports whether a function defers what recovers, or only returns what another function, which
// does, returns.
func recovers(body *ast.BlockStmt) (yes bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.DeferStmt:
			if f, ok := n.Call.Fun.(*ast.Ident); ok {
				switch f.Name {
				case "survive", "panicked", "panickedOpening":
					yes = true
				}
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "json" && len(body.List) == 1 {
				yes = true
			}
		case *ast.ReturnStmt:
			if _, ok := n.Results[0].(*ast.Ident); ok && len(body.List) == 1 {
				yes = true // a variable
			}
		}
		return true
	})
	return yes
}
