// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"encoding/json"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tagbus/internal/testkit"
)

// internals are generic functions of the module, which a compiler makes where they are used.
var internals = regexp.MustCompile(`(?m)^.* T (tagbus/bus/internal/.*\[.*)$`)

// TestAUserCompilesNoInternals: a package that calls all methods of package bus has nothing of
// the bus in it that is compiled there already (adr/0037).
func TestAUserCompilesNoInternals(t *testing.T) {
	testkit.DependsOnTree()
	inRoot(t)
	pkg, _ := checkBus(t, token.NewFileSet())
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	user, overlay := filepath.Join(dir, "user.go"), filepath.Join(dir, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "internal/checks/user/user.go"): user}})
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{user: []byte(userOf(pkg)), overlay: text} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	export, err := exec.Command("go", "list", "-export", "-overlay", overlay, "-f", "{{.Export}}", "./internal/checks/user").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, userOf(pkg))
	}
	symbols, err := exec.Command("go", "tool", "nm", strings.TrimSpace(string(export))).Output()
	if err != nil {
		t.Fatal(err)
	}
	if found := internals.FindAllSubmatch(symbols, -1); len(found) > 0 {
		t.Errorf("got %d functions, such as %s: a method is inlined that uses publisherOf, or one like it (go build -gcflags=-m ./bus says which can be)", len(found), found[0][1])
	}
}

// userOf returns a program that calls all methods of all types of a package.
func userOf(pkg *types.Package) string {
	imports := map[*types.Package]string{}
	qualify := func(p *types.Package) string {
		imports[p] = p.Name()
		return p.Name()
	}
	var calls strings.Builder
	for _, name := range pkg.Scope().Names() {
		object, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || !object.Exported() {
			continue
		}
		fmt.Fprintf(&calls, "var _ any = new(%s)\n", types.TypeString(object.Type(), qualify))
		methods := types.NewMethodSet(types.NewPointer(object.Type()))
		if types.IsInterface(object.Type()) {
			continue
		}
		for method := range methods.Methods() {
			if !method.Obj().Exported() {
				continue
			}
			signature := method.Type().(*types.Signature)
			fmt.Fprintf(&calls, "func _%s_%s(x *%s", name, method.Obj().Name(), types.TypeString(object.Type(), qualify))
			var arguments []string
			for i := range signature.Params().Len() {
				fmt.Fprintf(&calls, ", a%d %s", i, types.TypeString(signature.Params().At(i).Type(), qualify))
				arguments = append(arguments, fmt.Sprint("a", i))
			}
			fmt.Fprintf(&calls, ") { x.%s(%s) }\n", method.Obj().Name(), strings.Join(arguments, ", "))
		}
	}
	text := "package user\n"
	for p := range imports {
		text += fmt.Sprintf("import %q\n", p.Path())
	}
	return text + calls.String()
}
