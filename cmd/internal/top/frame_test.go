// SPDX-License-Identifier: Apache-2.0

package top

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/screen"
	"tagbus/internal/testkit"
)

var update = flag.Bool("update", false, "write the frames into testdata")

// want compares a text with the one in testdata. ESC is shown as ␛.
func want(t *testing.T, name, got string) {
	t.Helper()
	got = strings.ReplaceAll(got, "\x1b", "␛")
	file := filepath.Join("testdata", name+".txt")
	if *update {
		testkit.Must(t, os.WriteFile(file, []byte(got), 0o600))
	}
	text, err := os.ReadFile(file)
	testkit.Must(t, err)
	if diff := cmp.Diff(strings.Split(string(text), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

var styles = regexp.MustCompile("\x1b\\[[0-9;]*m")

// checkFits holds a frame to the screen: as many lines, none wider.
func checkFits(t *testing.T, lines []string, width, height int) {
	t.Helper()
	if len(lines) != height {
		t.Errorf("got %d lines, want %d", len(lines), height)
	}
	for i, l := range lines {
		l = styles.ReplaceAllString(l, "")
		if w := screen.Width(l); w > width {
			t.Errorf("line %d has %d columns, want at most %d: %q", i, w, width, l)
		}
		if strings.ContainsAny(l, "\x1b\n\r\t") {
			t.Errorf("line %d: got a control character in %q", i, l)
		}
	}
}

func open(by string, links, colour bool, o overview.Overview) *view {
	c := &Command{By: by, View: "instances"}
	if links {
		c.View = "links"
	}
	v := newView(c, "/data/bus", colour)
	v.show(o)
	return v
}

func TestFrames(t *testing.T) {
	tests := []struct {
		name          string
		width, height int
		view          func() *view
	}{
		{"instances-80x24", 80, 24, func() *view { return open("queue", false, true, small()) }},
		{"instances-120x40", 120, 40, func() *view { return open("queue", false, true, small()) }},
		{"instances-40x10", 40, 10, func() *view { return open("queue", false, true, small()) }},
		{"instances-160x12", 160, 12, func() *view { return open("msgs", false, true, small()) }},
		{"instances-no-colour-80x24", 80, 24, func() *view { return open("lost", false, false, small()) }},
		{"links-80x24", 80, 24, func() *view { return open("queue", true, true, small()) }},
		{"links-120x40", 120, 40, func() *view { return open("queue", true, true, small()) }},
		{"links-40x10", 40, 10, func() *view { return open("queue", true, true, small()) }},
		{"many-80x24", 80, 24, func() *view {
			v := open("msgs", false, true, large(1000))
			v.frame(80, 24) // its height is a page
			v.press(screen.PageDown)
			return v
		}},
		{"help-80x24", 80, 24, func() *view { v := open("queue", false, true, small()); v.press('?'); return v }},
		{"paused-80x24", 80, 24, func() *view {
			v := open("queue", false, true, small())
			for _, k := range "p/RU-0\x01" {
				v.press(screen.Key(k))
			}
			v.press(screen.Enter)
			return v
		}},
		{"typing-40x10", 40, 10, func() *view {
			v := open("queue", false, true, small())
			for _, k := range "/trig" {
				v.press(screen.Key(k))
			}
			return v
		}},
		{"nothing-found-80x24", 80, 24, func() *view { v := open("queue", false, true, small()); v.filter = "zzz"; v.arrange(); return v }},
		{"nothing-there-80x24", 80, 24, func() *view { return open("queue", false, true, overview.Overview{Time: noon}) }},
		{"no-look-yet-80x24", 80, 24, func() *view { return newView(&Command{By: "queue", View: "links"}, "/data/bus", true) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			lines := test.view().frame(test.width, test.height)
			checkFits(t, lines, test.width, test.height)
			want(t, test.name, strings.Join(lines, "\n")+"\n")
		})
	}
}

// TestFramesOfAllSizesFit: also of those that are too small to be of use.
func TestFramesOfAllSizesFit(t *testing.T) {
	for _, links := range []bool{false, true} {
		for width := 1; width <= 200; width += 9 {
			for height := 1; height <= 30; height++ {
				v := open("queue", links, true, small())
				checkFits(t, v.frame(width, height), width, height)
				v.press('/')
				checkFits(t, v.frame(width, height), width, height)
			}
		}
	}
}

// TestColumnsAreLeftOutInOrder: the narrower the screen the fewer there are, and each of a
// wider one is there.
func TestColumnsAreLeftOutInOrder(t *testing.T) {
	o := small()
	rows := o.Instances()
	var last []string
	for width := 12; width <= 200; width++ {
		var names []string
		for _, p := range place(instanceColumns, rows, width) {
			names = append(names, p.title)
		}
		for _, name := range last {
			if !strings.Contains(strings.Join(names, " ")+" ", name+" ") {
				t.Errorf("width %d: got %v, want %s among them as on a narrower one", width, names, name)
			}
		}
		last = names
	}
	if len(last) != len(instanceColumns) {
		t.Errorf("got %v in 200 columns, want all", last)
	}
}
