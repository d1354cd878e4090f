// SPDX-License-Identifier: Apache-2.0

// Command faults runs the table of faults: each row does something to real processes in network namespaces,
// and says what is promised then. A checker of its own decides. See docs/faults.md.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"tagbus/test/faults/internal/bed"
	"tagbus/test/faults/internal/rows"
	"tagbus/test/faults/internal/table"
	"tagbus/test/faults/load"
)

//go:embed head.md
var head string

func main() {
	if len(os.Args) > 1 && os.Args[1] == "load" {
		os.Exit(load.Main(os.Args[2:]))
	}
	os.Exit(run())
}

// options are the flags.
type options struct {
	only, doc, keep string
	quick, list     bool
	parallel        int
}

func run() int {
	var o options
	flag.StringVar(&o.only, "only", "", "run the rows whose number, or number and name, match this `regexp`")
	flag.BoolVar(&o.quick, "quick", false, "run the rows of the selection of five minutes")
	flag.BoolVar(&o.list, "list", false, "list the rows, and run none")
	flag.IntVar(&o.parallel, "parallel", 3, "how many rows run at a time")
	flag.StringVar(&o.doc, "doc", "", "write the whole table into this `file`")
	flag.StringVar(&o.keep, "keep", "", "`folder` for what the processes say, which is kept; it must not exist")
	flag.Parse()
	selected, err := choose(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		return 2
	}
	if o.list {
		for i := range selected {
			fmt.Fprintf(os.Stdout, "%-8s %s\n", selected[i].Number, selected[i].Name)
		}
		return 0
	}
	dir, err := folder(o.keep)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		return 2
	}
	tidy := func() {
		if o.keep == "" {
			_ = os.RemoveAll(dir) // the next run has another one
		}
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		fmt.Fprintln(os.Stderr, "faults: interrupted")
		bed.CloseAll()
		os.Exit(130)
	}()
	return report(o, selected, dir, tidy)
}

// report runs rows and says what became of them.
func report(o options, selected []table.Row, dir string, tidy func()) int {
	bed.Tidy()
	tools, err := build(dir, selected)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		return 2
	}
	outcomes := table.Run(selected, o.parallel, dir, tools, func(o table.Outcome) { fmt.Fprintln(os.Stdout, o.Line()) })
	fmt.Fprintf(os.Stdout, "\n%s; the machine stood still for at most %s\n", table.Summary(outcomes), table.Short(tools.Stalls.Worst()))
	if o.doc != "" {
		if err := os.WriteFile(o.doc, []byte(table.Markdown(outcomes, head, machine(tools.Stalls))), 0o644); err != nil { // a document
			fmt.Fprintln(os.Stderr, "faults:", err)
			return 2
		}
	}
	if _, broken, _ := table.Count(outcomes); broken > 0 {
		fmt.Fprintln(os.Stdout, "what the processes said is in", dir)
		return 1
	}
	tidy()
	return 0
}

// machine returns where the rows were run, and how busy that was.
func machine(stalls *bed.Stalls) string {
	load, _, _ := strings.Cut(read("/proc/loadavg"), " ")
	return fmt.Sprintf("%d processors, Linux %s and a load of %s in the end, which stood still for at most %s",
		runtime.NumCPU(), strings.TrimSpace(read("/proc/sys/kernel/osrelease")), load, table.Short(stalls.Worst()))
}

// read returns what is in a file of /proc, or "".
func read(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}

// choose returns the rows of the options.
//
// Errors: that of the regular expression; what is wrong with the rows; one if there are none, or only some for a
// document.
func choose(o options) ([]table.Row, error) {
	if o.doc != "" && (o.quick || o.only != "") {
		return nil, fmt.Errorf("-doc %s: it has all rows: leave out -only and -quick", o.doc)
	}
	only, err := regexp.Compile(o.only)
	if err != nil {
		return nil, fmt.Errorf("-only %s: %w", o.only, err)
	}
	all := rows.All()
	if wrong := table.Validate(all); wrong != "" {
		return nil, fmt.Errorf("the rows: %s", wrong)
	}
	all = slices.DeleteFunc(all, func(r table.Row) bool {
		return !only.MatchString(r.Number) && !only.MatchString(r.Number+" "+r.Name) || o.quick && !r.Quick
	})
	if len(all) == 0 {
		among := ""
		if o.quick {
			among = " of -quick"
		}
		return nil, fmt.Errorf("-only %q: no row%s has such a number, or number and name: -list shows them; '^2$' is row 2, and '^5' all that begin with a 5", o.only, among)
	}
	return all, nil
}

func folder(keep string) (string, error) {
	if keep == "" {
		return os.MkdirTemp("", "tbf")
	}
	keep, err := filepath.Abs(keep)
	if err != nil {
		return "", err
	}
	return keep, os.Mkdir(keep, 0o755)
}

// build builds what the rows need.
//
// Errors: those of the go command, with what it said.
func build(dir string, selected []table.Row) (table.Tools, error) {
	self, err := os.Executable()
	if err != nil {
		return table.Tools{}, err
	}
	tools := table.Tools{Load: []string{self, "load"}, Stalls: bed.NewStalls(), Commands: filepath.Join(dir, "bin")}
	type target struct {
		dir      string
		packages []string
	}
	targets := []target{{".", []string{"./cmd/publisher", "./cmd/subscriber", "./cmd/tagbus"}}}
	if slices.ContainsFunc(selected, func(r table.Row) bool { return slices.Contains(r.Directories, table.Etcd) }) {
		targets = append(targets, target{"directory/etcd", []string{"./cmd/tagbus-directory", "./internal/faultload"}})
		tools.Directory = filepath.Join(tools.Commands, "tagbus-directory")
		tools.LoadEtcd = []string{filepath.Join(tools.Commands, "faultload")}
	}
	for _, t := range targets {
		cmd := exec.Command("go", append([]string{"-C", t.dir, "build", "-o", tools.Commands + "/"}, t.packages...)...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return table.Tools{}, fmt.Errorf("go build %s: %w: %s", strings.Join(t.packages, " "), err, out)
		}
	}
	return tools, nil
}
