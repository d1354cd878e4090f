// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
)

// printed returns what a command prints.
func printed(t *testing.T, p *printer, tables int) (out, problems string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var o, e strings.Builder
		p.command.Interval = time.Second
		p.out, p.problems = &o, &e
		began := time.Now()
		err = p.run(t.Context(), tables)
		if took := time.Since(began); err == nil && took != time.Duration(tables)*time.Second {
			t.Errorf("got an end after %v, want %d s", took, tables)
		}
		out, problems = o.String(), e.String()
	})
	return out, problems, err
}

func seen(o overview.Overview) func(context.Context) overview.Overview {
	return func(context.Context) overview.Overview { return o }
}

func TestTables(t *testing.T) {
	for _, test := range []struct {
		name, view string
		width      int
		tables     int
	}{
		{"once-instances", "instances", 0, 1},
		{"once-links", "links", 0, 1},
		{"once-80", "instances", 80, 1},
		{"twice", "links", 40, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, problems, err := printed(t, &printer{command: &Command{By: "queue", View: test.view}, width: test.width, look: seen(small())}, test.tables)
			if err != nil || problems != "" {
				t.Errorf("got %v and %q, want neither", err, problems)
			}
			want(t, test.name, out)
		})
	}
}

func TestTablesAsJSON(t *testing.T) {
	for _, view := range []string{"instances", "links"} {
		out, _, err := printed(t, &printer{command: &Command{By: "queue", View: view, Filter: "felix-02"}, json: true, look: seen(small())}, 2)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for line := range strings.Lines(out) {
			var row struct {
				Name string
				To   struct{ Name string }
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatalf("%v in %q", err, line)
			}
			names = append(names, row.Name+row.To.Name)
		}
		want := "felix-02 felix-02"
		if view == "links" {
			want = "archive builder archive builder"
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: got %s, want %s", view, got, want)
		}
	}
}

func TestProblemsOfTheDirectory(t *testing.T) {
	gone := errors.New("directory: gone")
	o := small()
	o.Problem = gone
	out, problems, err := printed(t, &printer{command: &Command{By: "queue", View: "instances"}, look: seen(o)}, 1)
	if err != nil || problems != "tagbus: problem: directory: gone\n" || !strings.Contains(out, "felix-02") {
		t.Errorf("got %v, %q and\n%s\nwant the problem and the rows", err, problems, out)
	}
	o.Rows = nil
	if _, _, err := printed(t, &printer{command: &Command{By: "queue", View: "instances"}, look: seen(o)}, 1); !errors.Is(err, gone) {
		t.Errorf("got %v, want %v", err, gone)
	}
}

// TestADirectoryThatIsAwayForAWhileEndsNoTables: neither those without an end nor those that go on behind it.
func TestADirectoryThatIsAwayForAWhileEndsNoTables(t *testing.T) {
	for _, test := range []struct {
		name string
		away func(look int) bool
		ends bool
	}{
		{"for two looks in the middle", func(look int) bool { return look == 2 || look == 3 }, false},
		{"at the first table", func(look int) bool { return look <= 1 }, true},
		{"from the last table on", func(look int) bool { return look >= 5 }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			gone, looks := errors.New("directory: gone"), -1 // the first look is for rates
			look := func(context.Context) overview.Overview {
				if looks++; test.away(looks) {
					return overview.Overview{Problem: gone}
				}
				return small()
			}
			out, problems, err := printed(t, &printer{command: &Command{By: "queue", View: "instances"}, look: look}, 5)
			if got := errors.Is(err, gone); got != test.ends {
				t.Errorf("got %v, want an end: %v", err, test.ends)
			}
			if want := strings.Repeat("tagbus: problem: directory: gone\n", 2); !test.ends && (problems != want || strings.Count(out, "felix-02") < 3) {
				t.Errorf("got %q and\n%s\nwant the problem of two looks, and the rows of three", problems, out)
			}
		})
	}
}

// closedPipe is what head leaves behind.
type closedPipe struct{ err error }

func (p closedPipe) Write([]byte) (int, error) { return 0, p.err }

func TestAReaderThatGoesIsTheEnd(t *testing.T) {
	for _, test := range []struct{ err, want error }{{syscall.EPIPE, nil}, {syscall.ENOSPC, syscall.ENOSPC}} {
		synctest.Test(t, func(t *testing.T) {
			p := &printer{command: &Command{By: "queue", Interval: time.Second}, out: closedPipe{test.err}, look: seen(small())}
			if err := p.run(t.Context(), 0); !errors.Is(err, test.want) {
				t.Errorf("%v: got %v, want %v", test.err, err, test.want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		command Command
		want    string
	}{
		{Command{Interval: time.Second}, ""},
		{Command{Interval: time.Second, Once: true, Count: 1}, ""},
		{Command{Interval: time.Millisecond, Count: -1}, "--interval: got 1ms, want at least 100ms\n--count: got -1, want 1 or more"},
		{Command{Interval: time.Second, Once: true, Count: 2}, "--once is one table: got --count 2 too"},
	} {
		got := ""
		if err := test.command.Check(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%+v: got %q, want %q", test.command, got, test.want)
		}
	}
}

// TestAPeerThatIsGoneIsNamed: on the line of problems, as WORST-PEER is not shown at 80 columns.
func TestAPeerThatIsGoneIsNamed(t *testing.T) {
	o := small()
	o.Rows = o.Rows[:1]
	o.Rows[0].State.Gone = []state.Peer{{Instance: "id-display", Name: "dis\x1bplay", Host: "console-02", Ended: noon.Add(-75 * time.Second), Reason: "nothing heard"}}
	v := newView(&Command{By: "queue", View: "instances"}, "/run/bus", false)
	v.plain = true
	v.show(o)
	lines := v.frame(80, 24)
	if want := `gone without goodbye: "dis\x1bplay" on console-02, 1m15s ago, from `; !strings.HasPrefix(lines[2], want) {
		t.Errorf("got %s, want %s", lines[2], want)
	}
	if !strings.Contains(lines[1], "  1 gone  ") {
		t.Errorf("totals: got %s, want 1 gone", lines[1])
	}
	out, _, err := printed(t, &printer{command: &Command{By: "queue", View: "instances"}, look: seen(o)}, 1)
	if err != nil || !strings.HasSuffix(out, ` "dis\x1bplay" gone`+"\n") {
		t.Errorf("got\n%s(%v), want the peer at the end", out, err)
	}
}

// TestABusOfTheDeadIsNotEmpty: the bus was called empty a moment after its publisher was killed, and
// nothing was gone.
func TestABusOfTheDeadIsNotEmpty(t *testing.T) {
	o := overview.Overview{Time: time.Now(), Dead: []overview.Dead{{Entry: directory.Entry{Instance: "D1", Name: "felix-09"}, Since: time.Now(), Why: "its process has ended and has left its entry"}}}
	out, problems, err := printed(t, &printer{command: &Command{By: "queue", View: "instances"}, look: seen(o)}, 1)
	if err != nil || strings.Contains(problems, "empty") || !strings.Contains(out, "0 entries  1 gone") || !strings.Contains(out, "gone without a word: felix-09") {
		t.Errorf("got %q, %q and %v", out, problems, err)
	}
	v := newView(&Command{By: "queue", View: "instances"}, "/run/bus", false)
	v.show(o)
	if text := strings.Join(v.frame(80, 20), "\n"); strings.Contains(text, "Start one") || !strings.Contains(text, "No publisher or receiver of /run/bus lives") {
		t.Errorf("on a screen: got %q", text)
	}
}
