// SPDX-License-Identifier: Apache-2.0

// Command house measures how the code of a module is cut, for each package and in
// all, and prints tables in Markdown: files and their lines, functions and their
// lines, how much is documented and tested, and the rules that the cut has to keep.
//
// Files are those of all build variants, by their text. Modules inside the module,
// testdata and generated files do not count. For package bus it counts, too, which of its
// files use which others, in the order of the files in which the fewest arrows lead up.
//
//	house [-strict] [DIRECTORY]
//
// Exit status: 0 all is well, 1 the code cannot be read or, with -strict, breaks a
// rule, 2 wrong usage.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is main without the process: it returns the exit status.
func run(args []string, out, errOut io.Writer) int {
	flags := flag.NewFlagSet("house", flag.ContinueOnError)
	flags.SetOutput(errOut)
	strict := flags.Bool("strict", false, "fail when a rule is broken")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	root := "."
	switch flags.NArg() {
	case 0:
	case 1:
		root = flags.Arg(0)
	default:
		fmt.Fprintln(errOut, "house: more than one directory")
		return 2
	}
	all, err := measure(os.DirFS(root))
	if err != nil {
		fmt.Fprintln(errOut, "house:", err)
		return 1
	}
	s, err := shapeOf(root, "bus")
	if err != nil {
		fmt.Fprintln(errOut, "house:", err)
		return 1
	}
	writeTable(out, all)
	writeShape(out, s)
	if kept := writeRules(out, all, s); !kept && *strict {
		return 1
	}
	return 0
}
