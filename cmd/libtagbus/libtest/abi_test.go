// SPDX-License-Identifier: Apache-2.0

package libtest_test

import (
	"debug/dwarf"
	"debug/elf"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/clib"
)

var update = flag.Bool("update", false, "write the golden file")

// TestTheABI holds what tagbus.h promises to programs that are compiled already: functions with the types of their
// parameters, sizes and offsets of structs, values of enums and callbacks are those of testdata/abi.txt. The writer is in
// there, too: its functions are compiled into the program.
func TestTheABI(t *testing.T) {
	// What a library has for debuggers says all of it. Processors with 64 bits have the same.
	got := abi(t, clib.Compile(t, "gcc", "abi.so", append([]string{"-std=c11", "-O0", "-fPIC", "-shared", "-fno-eliminate-unused-debug-types"}, clib.Library(t)...)...))
	path := filepath.Join(clib.Root(t), sources, "abi.txt")
	if *update {
		testkit.Must(t, os.WriteFile(path, []byte(strings.Join(got, "\n")+"\n"), 0o644))
	}
	text, err := os.ReadFile(path)
	testkit.Must(t, err)
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	var gone []string
	for _, line := range want {
		if !slices.Contains(got, line) {
			gone = append(gone, line)
		}
	}
	switch diff := cmp.Diff(want, got); {
	case len(gone) > 0:
		t.Errorf("these of %sabi.txt are gone, or changed:\n%s\nPrograms that are compiled with an earlier header would break: take the change back. "+
			"If it has to be, it is libtagbus.so.1: another soname and TAGBUS_1 in libtagbus.map, other packages, and -update. "+
			"Fields at the end of tagbus_event alone may come, which changes its sizeof: -update, too. All of it (-abi.txt +header):\n%s",
			sources, strings.Join(gone, "\n"), diff)
	case diff != "":
		t.Errorf("the ABI grows, which it may: -update writes %sabi.txt; say it in CHANGELOG.md (-abi.txt +header):\n%s", sources, diff)
	}
}

// abi returns what is of tagbus.h in a library, a line for each name.
func abi(t *testing.T, library string) (lines []string) {
	t.Helper()
	file, err := elf.Open(library)
	testkit.Must(t, err)
	defer file.Close()
	data, err := file.DWARF()
	testkit.Must(t, err)
	var files []*dwarf.LineFile
	for r := data.Reader(); ; {
		e, err := r.Next()
		testkit.Must(t, err)
		if e == nil {
			break
		}
		if e.Tag == dwarf.TagCompileUnit {
			lineReader, err := data.LineReader(e)
			testkit.Must(t, err)
			files = lineReader.Files()
			continue
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		external, _ := e.Val(dwarf.AttrExternal).(bool)
		at, ok := e.Val(dwarf.AttrDeclFile).(int64)
		switch {
		case e.Tag == dwarf.TagSubprogram && external && strings.HasPrefix(name, "tagbus_"):
			lines = append(lines, function(t, data, r, e, name))
		case ok && filepath.Base(files[at].Name) == "tagbus.h":
			lines = append(lines, declared(data, e, name)...)
			fallthrough
		default:
			if e.Children {
				r.SkipChildren()
			}
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// declared returns the lines of one declaration of a type.
func declared(data *dwarf.Data, e *dwarf.Entry, name string) (lines []string) {
	typ, err := data.Type(e.Offset)
	if err != nil {
		return nil // a parameter, a variable
	}
	switch typ := typ.(type) {
	case *dwarf.EnumType:
		for _, v := range typ.Val {
			lines = append(lines, fmt.Sprintf("%s = %d", v.Name, v.Val))
		}
	case *dwarf.StructType:
		if typ.Incomplete {
			break
		}
		lines = append(lines, fmt.Sprintf("sizeof %s = %d", typ.StructName, typ.ByteSize))
		for _, f := range typ.Field {
			lines = append(lines, fmt.Sprintf("%s.%s at %d: %s of %d", typ.StructName, f.Name, f.ByteOffset, f.Type, f.Type.Size()))
		}
	case *dwarf.TypedefType:
		lines = append(lines, fmt.Sprintf("typedef %s %s", name, typ.Type))
	}
	return lines
}

// function returns the line of a function.
func function(t *testing.T, data *dwarf.Data, r *dwarf.Reader, e *dwarf.Entry, name string) string {
	t.Helper()
	typeOf := func(e *dwarf.Entry) string {
		offset, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
		if !ok {
			return "void"
		}
		typ, err := data.Type(offset)
		testkit.Must(t, err)
		return typ.String()
	}
	result, parameters := typeOf(e), []string{}
	for e.Children {
		child, err := r.Next()
		testkit.Must(t, err)
		if child.Tag == 0 {
			break
		}
		if child.Tag == dwarf.TagFormalParameter {
			parameters = append(parameters, typeOf(child))
		}
		if child.Children {
			r.SkipChildren()
		}
	}
	return fmt.Sprintf("%s(%s) %s", name, strings.Join(parameters, ", "), result)
}
