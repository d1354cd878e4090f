// SPDX-License-Identifier: Apache-2.0

// Command typecheck checks the types of packages, with their tests, for another system or
// processor: what the compiler says of Go, in seconds instead of the minutes that it takes to
// compile the standard library. The packages that they need are read, too, without the bodies
// of their functions.
//
//	GOOS=linux GOARCH=386 typecheck [-allow TEXT] PACKAGE...
//
// Packages are as go list has them, in the module of the current directory. With -allow
// a package may fail by errors that all have TEXT in them, and what needs it is left out, as
// the compiler does.
// Exit status: 0 all is well, 1 a package has errors, 2 wrong usage.
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is main without the process: it returns the exit status.
func run(args []string, out, errOut io.Writer) int {
	flags := flag.NewFlagSet("typecheck", flag.ContinueOnError)
	flags.SetOutput(errOut)
	allow := flags.String("allow", "", "text that the errors of a package may have")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() == 0 {
		fmt.Fprintln(errOut, "typecheck: no packages")
		return 2
	}
	listed, err := list(flags.Args())
	if err != nil {
		fmt.Fprintln(errOut, "typecheck:", err)
		return 1
	}
	c := checker{files: token.NewFileSet(), allow: *allow, checked: make(map[string]*types.Package), failed: make(map[string]bool)}
	c.sizes = types.SizesFor("gc", listed.arch)
	status := 0
	for _, p := range listed.packages {
		for _, err := range c.check(p) {
			fmt.Fprintln(errOut, err)
			status = 1
		}
	}
	if status == 0 {
		fmt.Fprintf(out, "%s/%s: %d packages, of which %d say what they need instead\n", listed.system, listed.arch, len(c.checked), len(c.failed))
	}
	return status
}

// checker checks packages, those before others that these need.
type checker struct {
	files   *token.FileSet
	sizes   types.Sizes
	allow   string
	checked map[string]*types.Package
	failed  map[string]bool // those with errors that are allowed, and those that need one of them
}

// check returns the errors of a package.
func (c *checker) check(p *listedPackage) (errs []error) {
	if p.ImportPath == "unsafe" {
		c.checked["unsafe"] = types.Unsafe
		return nil
	}
	for _, path := range p.Imports {
		if c.failed[p.imported(path)] {
			c.failed[p.ImportPath] = true
			return nil
		}
	}
	parsed := make([]*ast.File, 0, len(p.GoFiles))
	for _, name := range p.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		file, err := parser.ParseFile(c.files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return []error{err}
		}
		parsed = append(parsed, file)
	}
	config := types.Config{
		Sizes:            c.sizes,
		GoVersion:        p.goVersion(),
		IgnoreFuncBodies: !p.ours(),
		Importer:         importer(func(path string) (*types.Package, error) { return c.find(p, path) }),
		Error:            func(err error) { errs = append(errs, err) },
	}
	path, _, _ := strings.Cut(p.ImportPath, " ")
	c.checked[p.ImportPath], _ = config.Check(path, c.files, parsed, nil)
	if len(errs) > 0 && c.allow != "" && c.allowed(errs) {
		c.failed[p.ImportPath] = true
		return nil
	}
	return errs
}

// allowed reports whether all of some errors have the text that is allowed.
func (c *checker) allowed(errs []error) bool {
	for _, err := range errs {
		if !strings.Contains(err.Error(), c.allow) {
			return false
		}
	}
	return true
}

// find returns what a package imports as path.
func (c *checker) find(p *listedPackage, path string) (*types.Package, error) {
	found := c.checked[p.imported(path)]
	if found == nil {
		return nil, fmt.Errorf("%s is not known", path)
	}
	return found, nil
}

// importer is a function that is a types.Importer.
type importer func(path string) (*types.Package, error)

// Import implements types.Importer.
func (f importer) Import(path string) (*types.Package, error) { return f(path) }
