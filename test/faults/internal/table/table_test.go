// SPDX-License-Identifier: Apache-2.0

package table_test

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"tagbus/internal/testkit"
	"tagbus/test/faults/internal/bed"
	"tagbus/test/faults/internal/table"
)

func TestValidate(t *testing.T) {
	good := table.Row{Number: "1", Name: "name", Inject: "inject", Promise: "promise", Held: []string{"./bus TestX"}}
	run := func(struck table.Counts) []table.Row {
		r := good
		r.Held, r.Run, r.Struck = nil, func(*table.Case) {}, struck
		return []table.Row{r}
	}
	edit := func(change func(*table.Row)) []table.Row {
		r := good
		change(&r)
		return []table.Row{r}
	}
	for _, test := range []struct {
		name string
		rows []table.Row
		want string
	}{
		{"a row", []table.Row{good}, ""},
		{"a row that runs", run(table.Counts{"killed": 1}), ""},
		{"a row that may run without its fault", run(nil), "row 1: Struck does not say what shows that the fault has struck"},
		{"a row whose fault may be none", run(table.Counts{"killed": 0}), `row 1: Struck wants 0 of "killed"`},
		{"a row without a promise", edit(func(r *table.Row) { r.Promise = "" }), "a text is missing"},
		{"a row that does nothing", edit(func(r *table.Row) { r.Held = nil }), "want Run or Held"},
		{"a row that does both", edit(func(r *table.Row) { r.Run = func(*table.Case) {} }), "want Run or Held"},
		{"a text that breaks the table", edit(func(r *table.Row) { r.Name = "a|b" }), "would break the table"},
		{"a number twice", []table.Row{good, good}, "two rows 1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := table.Validate(test.rows); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestRun_takesTheVerdictOfTests: those that pass keep a row, and one that is not there breaks it.
func TestRun_takesTheVerdictOfTests(t *testing.T) {
	testkit.DependsOnTree()
	t.Chdir("../../../..")
	row := func(number string, tests ...string) table.Row {
		return table.Row{Number: number, Name: "name", Inject: "inject", Promise: "promise", Held: tests}
	}
	rows := []table.Row{
		row("1", "./test/faults/internal/record TestCreate_showsInOpen"),
		row("2", "./test/faults/internal/record TestCreate_showsInOpen", "./test/faults/internal/record TestThatIsNotThere"),
		{Number: "3", Name: "name", Inject: "inject", Promise: "promise", Missing: func() string { return "needs a fabric" }},
	}
	seen := 0
	got := table.Run(rows, 2, t.TempDir(), table.Tools{}, func(table.Outcome) { seen++ })
	for i, want := range []table.Verdict{table.Kept, table.Broken, table.NotRun} {
		if got[i].Verdict != want {
			t.Errorf("row %s: got %v, %s, want %v", got[i].Row.Number, got[i].Verdict, got[i].Reason, want)
		}
	}
	if kept, broken, notRun := table.Count(got); kept != 1 || broken != 1 || notRun != 1 || seen != 3 {
		t.Errorf("got %d kept, %d broken, %d not run, %d told, want 1, 1, 1, 3", kept, broken, notRun, seen)
	}
	text := table.Markdown(got, "# Faults\n", "two processors")
	for _, want := range []string{"| 3 | name | inject | promise |", "| 3 |  |  | not run | needs a fabric |", "has no test TestThatIsNotThere", "on a machine with two processors: 1 promises kept, 1 broken, 1 not run"} {
		if !strings.Contains(text, want) {
			t.Errorf("the document has no %q:\n%s", want, text)
		}
	}
}

// TestRun_seesWhatABusMustNotDo: from the payload to the verdict, with processes that break a promise.
func TestRun_seesWhatABusMustNotDo(t *testing.T) {
	testkit.DependsOnTree()
	if why := bed.Missing("ip"); why != "" {
		t.Skip(why)
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "faults")
	if out, err := exec.Command("go", "build", "-o", program, "tagbus/test/faults").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	var rows []table.Row
	wants := []string{"", "1 are not accounted for", "1 messages doubled", "1 messages changed"}
	for i, canary := range []string{"", "skip", "double", "change"} {
		rows = append(rows, table.Row{Number: strconv.Itoa(i), Name: "name", Inject: "inject", Promise: "promise", Run: func(c *table.Case) {
			_, victim, _ := c.Begin("-canary", canary)
			c.Until("message 100", time.Second, func() bool { return victim.Delivered(1) > 150 })
			c.Finish()
		}})
	}
	got := table.Run(rows, 2, dir, table.Tools{Load: []string{program, "load"}, Stalls: bed.NewStalls()}, func(o table.Outcome) { t.Log(o.Line()) })
	if strings.Contains(got[0].Reason, "Operation not permitted") {
		t.Skip("needs the right to make network namespaces")
	}
	for i, want := range wants {
		if (got[i].Verdict == table.Kept) != (want == "") || !strings.Contains(got[i].Reason, want) {
			t.Errorf("canary %d: got %v, %q, want %q", i, got[i].Verdict, got[i].Reason, want)
		}
	}
}

// TestRun_aPromiseThatIsNotKept: a case that ends with a promise that was broken, on two hosts that are there.
func TestRun_aPromiseThatIsNotKept(t *testing.T) {
	if why := bed.Missing("ip"); why != "" {
		t.Skip(why)
	}
	rows := []table.Row{
		{Number: "1", Name: "name", Inject: "inject", Promise: "promise", Run: func(c *table.Case) { c.Fail("it is not kept") }},
		{Number: "2", Name: "name", Inject: "inject", Promise: "promise", Run: func(c *table.Case) { c.Must(c.On(c.B, "ping", "-V")) }, Needs: []string{"no-such-program"}},
		{Number: "3", Name: "name", Inject: "inject", Promise: "promise", Run: func(c *table.Case) { c.Must(c.IP("-n B link show wire")) }},
		{Number: "4", Name: "name", Inject: "inject", Promise: "promise", Run: func(c *table.Case) { c.Took("it", 100*time.Hour, time.Second) }},
		{Number: "5", Name: "name", Inject: "inject", Promise: "promise", Struck: table.Counts{"drops": 3}, Run: func(c *table.Case) { c.Count("drops", 2) }},
		{Number: "6", Name: "name", Inject: "inject", Promise: "promise", Struck: table.Counts{"drops": 3}, Run: func(c *table.Case) {
			c.Count("drops", 2)
			c.Count("drops", 1)
		}},
		{Number: "7", Name: "name", Inject: "inject", Promise: "promise", Struck: table.Counts{"killed": 1}, Run: func(c *table.Case) {
			p := c.Command("ends before", c.A, "true")
			<-p.Ended()
			p.KillNow()
		}},
	}
	got := table.Run(rows, 2, t.TempDir(), table.Tools{Stalls: bed.NewStalls()}, func(table.Outcome) {})
	if strings.Contains(got[2].Reason, "Operation not permitted") {
		t.Skip("needs the right to make network namespaces")
	}
	for i, want := range []string{
		"it is not kept", "needs no-such-program", "", "took 100h0m0s, promised 1s",
		"the fault has not struck: drops: 2, want 3 at least", "", "ends before has ended with status 0 before it was killed",
	} {
		if !strings.Contains(got[i].Reason, want) || want == "" && got[i].Verdict != table.Kept {
			t.Errorf("row %s: got %v, %q, want %q", got[i].Row.Number, got[i].Verdict, got[i].Reason, want)
		}
	}
}
