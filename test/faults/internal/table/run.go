// SPDX-License-Identifier: Apache-2.0

package table

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"tagbus/test/faults/internal/bed"
)

// job is a row with one directory and one transport.
type job struct {
	row            *Row
	directory, way string
}

// Run runs rows, several at a time, those that stand alone at the end, and returns what became of them, in the
// order of the rows. done is called with each, one at a time.
func Run(rows []Row, parallel int, dir string, tools Tools, done func(Outcome)) []Outcome {
	var together, alone []int
	var jobs []job
	for i := range rows {
		for _, with := range rows[i].Cases() {
			if rows[i].Alone {
				alone = append(alone, len(jobs))
			} else {
				together = append(together, len(jobs))
			}
			jobs = append(jobs, job{&rows[i], with[0], with[1]})
		}
	}
	outcomes := make([]Outcome, len(jobs))
	var mu sync.Mutex
	each := func(indices []int, parallel int) {
		queue := make(chan int)
		var workers sync.WaitGroup
		for range parallel {
			workers.Go(func() {
				for i := range queue {
					o := jobs[i].run(dir, tools)
					mu.Lock()
					outcomes[i] = o
					done(o)
					mu.Unlock()
				}
			})
		}
		for _, i := range indices {
			queue <- i
		}
		close(queue)
		workers.Wait()
	}
	each(together, parallel)
	each(alone, 1)
	return outcomes
}

func (j job) run(dir string, tools Tools) Outcome {
	o := Outcome{Row: j.row, Directory: j.directory, Way: j.way, Verdict: NotRun}
	if j.row.Missing != nil {
		if o.Reason = j.row.Missing(); o.Reason != "" {
			return o
		}
	}
	if j.row.Held != nil {
		return held(j.row)
	}
	needs := append([]string{"ip"}, j.row.Needs...)
	if o.Reason = bed.Missing(needs...); o.Reason != "" {
		return o
	}
	if o.Reason = short(j, tools); o.Reason != "" {
		return o
	}
	return run(j.row, j.directory, j.way, dir, tools)
}

// short returns why the tools do not suffice for a job, or "".
func short(j job, tools Tools) string {
	if j.directory == Etcd && tools.Directory == "" {
		return "needs tagbus-directory, which was not built"
	}
	return ""
}

// held runs the tests of a row, and takes their verdict. A test that is not there breaks the row.
func held(r *Row) Outcome {
	begun := time.Now()
	o := Outcome{Row: r}
	byPackage := make(map[string][]string)
	for _, test := range r.Held {
		pkg, name, _ := strings.Cut(test, " ")
		byPackage[pkg] = append(byPackage[pkg], name)
	}
	var skipped []string
	for _, pkg := range slices.Sorted(func(yield func(string) bool) {
		for pkg := range byPackage {
			if !yield(pkg) {
				return
			}
		}
	}) {
		results, out, err := goTest(pkg, byPackage[pkg], r.Tags)
		for _, name := range byPackage[pkg] {
			switch results[name] {
			case "pass":
			case "skip":
				skipped = append(skipped, name)
			case "":
				o.Verdict, o.Reason = Broken, fmt.Sprintf("%s has no test %s that runs: %v: %s", pkg, name, err, tail(out))
			default:
				o.Verdict, o.Reason = Broken, fmt.Sprintf("%s %s: %s", pkg, name, tail(out))
			}
		}
	}
	if o.Verdict == Kept && len(skipped) == len(r.Held) {
		o.Verdict, o.Reason = NotRun, "no test of the row runs here"
	}
	o.Took = time.Since(begun)
	for _, test := range r.Held {
		_, name, _ := strings.Cut(test, " ")
		what := "held by "
		if slices.Contains(skipped, name) {
			what = "skipped here: "
		}
		o.Measured = append(o.Measured, what+name)
	}
	return o
}

// goTest runs tests of a package, and returns what became of each.
func goTest(pkg string, names []string, tags string) (results map[string]string, out []byte, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	args := []string{"test", "-json", "-timeout", "14m", "-tags", tags, "-run", "^(" + strings.Join(names, "|") + ")$", pkg}
	dir := "."
	if rest, ok := strings.CutPrefix(pkg, "./directory/etcd"); ok { // a module of its own
		dir, args[len(args)-1] = "directory/etcd", "."+rest
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	if strings.Contains(tags, "libfabric") {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=1")
	}
	out, err = cmd.CombinedOutput()
	results = make(map[string]string)
	for scanner := bufio.NewScanner(bytes.NewReader(out)); scanner.Scan(); {
		var event struct{ Action, Test string }
		if json.Unmarshal(scanner.Bytes(), &event) == nil && slices.Contains([]string{"pass", "fail", "skip"}, event.Action) {
			results[event.Test] = event.Action
		}
	}
	return results, out, err
}

var space = regexp.MustCompile(`\s+`)

// tail returns the end of an output as one line.
func tail(out []byte) string {
	text := space.ReplaceAllString(string(out), " ")
	return text[max(0, len(text)-600):]
}
