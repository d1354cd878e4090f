// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/screen"
)

// first returns the name of the row at the top of the screen.
func firstRow(v *view) string {
	if v.links {
		return visible(v, v.paths)[0].To.Label()
	}
	return visible(v, v.parties)[0].Name
}

func TestKeysOfTheView(t *testing.T) {
	tests := []struct {
		name string
		keys []screen.Key
		want string // what is sorted and shown, the row at the top, how many rows
	}{
		{"none", nil, "queue instances publisher-0999 of 1000"},
		{"s cycles the order", []screen.Key{'s', 's'}, "msgs instances publisher-0999 of 1000"},
		{"s comes back", []screen.Key{'s', 's', 's', 's'}, "queue instances publisher-0999 of 1000"},
		{"m", []screen.Key{'m'}, "msgs instances publisher-0999 of 1000"},
		{"b", []screen.Key{'b'}, "bytes instances publisher-0999 of 1000"},
		{"l", []screen.Key{'l'}, "lost instances publisher-0999 of 1000"},
		{"u", []screen.Key{'l', 'u'}, "queue instances publisher-0999 of 1000"},
		{"v", []screen.Key{'v', 'm'}, "msgs links subscriber-0999 of 1000"},
		{"v twice", []screen.Key{'v', 'v'}, "queue instances publisher-0999 of 1000"},
		{"a filter", []screen.Key{'/', '0', '0', '7', screen.Enter}, "queue instances publisher-0907 of 14"},
		{"a filter while it is typed", []screen.Key{'/', '0', '0', '7'}, "queue instances publisher-0907 of 14"},
		{"a filter is mended", []screen.Key{'/', '0', '0', '7', 'x', screen.Backspace, screen.Enter}, "queue instances publisher-0907 of 14"},
		{"a filter goes on", []screen.Key{'/', '0', '0', screen.Enter, '/', '7', screen.Enter}, "queue instances publisher-0907 of 14"},
		{"a filter is given up", []screen.Key{'/', '0', '0', '7', screen.Escape, '/', 'x', screen.ClearLine, screen.Enter}, "queue instances publisher-0999 of 1000"},
		{"a filter is removed", []screen.Key{'/', '0', '0', '7', screen.Enter, screen.Escape}, "queue instances publisher-0999 of 1000"},
		{"keys are text within a filter", []screen.Key{'/', 's', 'q', screen.ClearLine, 'v', 'm'}, "queue instances none of 0"},
		{"tags", []screen.Key{'/', '0', 'x', '1', '0', '1', screen.Enter}, "queue instances publisher-0999 of 1000"},
		{"down", []screen.Key{'m', screen.Down, screen.Down}, "msgs instances publisher-0997 of 1000"},
		{"up", []screen.Key{'m', screen.Down, screen.Up, screen.Up}, "msgs instances publisher-0999 of 1000"},
		{"a page", []screen.Key{'m', screen.PageDown, screen.PageDown, screen.PageUp}, "msgs instances publisher-0980 of 1000"},
		{"the end", []screen.Key{'m', screen.End}, "msgs instances publisher-0019 of 1000"},
		{"home", []screen.Key{'m', screen.End, screen.Home}, "msgs instances publisher-0999 of 1000"},
		{"a key that is none", []screen.Key{'z', screen.Enter}, "queue instances publisher-0999 of 1000"},
		{"a key ends the help", []screen.Key{'?', 'm', 'm'}, "msgs instances publisher-0999 of 1000"},
	}
	o := large(1000)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v := open("queue", false, true, o)
			for _, k := range test.keys {
				v.frame(80, 24)
				if v.press(k) {
					t.Fatalf("key %d has ended the view", k)
				}
			}
			v.frame(80, 24)
			what, top := "instances", "none"
			if v.links {
				what = "links"
			}
			if v.rows() > 0 {
				top = firstRow(v)
			}
			if got := fmt.Sprintf("%s %s %s of %d", v.by, what, top, v.rows()); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestKeysThatEnd(t *testing.T) {
	for _, keys := range [][]screen.Key{{'q'}, {screen.Quit}, {'/', screen.Quit}, {'?', screen.Quit}} {
		v := open("queue", false, true, small())
		for i, k := range keys {
			if quit, last := v.press(k), i == len(keys)-1; quit != last {
				t.Errorf("keys %v: key %d: got an end: %v, want %v", keys, i, quit, last)
			}
		}
	}
}

// TestTheScreenStaysFull: when rows go, those that are left move down.
func TestTheScreenStaysFull(t *testing.T) {
	v := open("msgs", false, true, large(1000))
	v.frame(80, 24)
	v.press(screen.End)
	v.show(large(30))
	lines := v.frame(80, 24)
	if got := strings.Count(strings.Join(lines, "\n"), "publisher-"); got != 20 {
		t.Errorf("got %d rows, want 20:\n%s", got, strings.Join(lines, "\n"))
	}
}

func TestAFilterIsBounded(t *testing.T) {
	v := open("queue", false, true, small())
	v.press('/')
	for range 1000 {
		v.press('世')
	}
	if len(v.typed) > maxFilter+3 {
		t.Errorf("got %d bytes, want at most %d", len(v.typed), maxFilter+3)
	}
}

func TestHelpFits(t *testing.T) {
	if len(helpText) > 24-6 {
		t.Errorf("got %d lines, want at most %d", len(helpText), 24-6)
	}
	for _, l := range helpText {
		if screen.Width(l) > 80 {
			t.Errorf("got %d columns, want at most 80: %s", screen.Width(l), l)
		}
	}
}

func TestCells(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{count(0), "0"},
		{count(9999), "9999"},
		{count(10_000), "10.0k"},
		{count(999_499), "999k"},
		{count(999_500), "1.00M"},
		{count(1<<64 - 1), "18447P"},
		{rate(overview.Unknown), "-"},
		{rate(0), "0"},
		{rate(0.25), "0.25"},
		{rate(9.999), "10.0"},
		{rate(99.96), "100"},
		{rate(999.4), "999"},
		{rate(999.6), "1.00k"},
		{rate(1_250_000), "1.25M"},
		{megabytes(overview.Unknown), "-"},
		{megabytes(1_250_000), "1.25"},
		{percent(0), "0"},
		{percent(0.001), "1"},
		{percent(0.999), "99"},
		{percent(1), "100"},
		{percent(1.2), "100"},
		{lost(nil), "0"},
		{lost(losses(state.Overflow, 3)), "0/0/0+3"},
		{lost(append(losses(state.Full, 1), losses(state.Connection, 2)...)), "1/0/2"},
		{span(-time.Second), "0s"},
		{span(59 * time.Second), "59s"},
		{span(61 * time.Second), "1m01s"},
		{span(3600 * time.Second), "1h00m"},
		{span(30 * time.Hour), "1d06h"},
		{roundTrip(0), "-"},
		{roundTrip(45e-6), "45.0us"},
		{roundTrip(0.0009999), "1.00ms"},
		{roundTrip(0.25), "250ms"},
		{roundTrip(2), "2.00s"},
	} {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
}
