// SPDX-License-Identifier: Apache-2.0

//go:build linux

package replay

import (
	"testing"
	"time"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool/tooltest"
	"tagbus/internal/testkit"
	"tagbus/tags"
)

func TestUsage(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"", `expected "<file> ..."`},
		{"a --speed 0", "--speed: got 0, want 1e-06 to 1e+06"},
		{"a --speed NaN", "--speed: got NaN, want 1e-06 to 1e+06"},
		{"a --speed 2 --as-fast-as-possible", "--as-fast-as-possible has no pauses: leave --speed and --max-gap out"},
		{"a --max-gap=-1s", "--max-gap and --drain-timeout: want 0 or more"},
		{"a --wait-subscribers=-1", "--wait-subscribers: got -1, want 0 or more"},
		{"a --from soon", `--from: got "soon", want a time as 2026-11-24T09:30:00Z, or one from the beginning as 90s`},
		{"a --from=-1s", `--from: got "-1s", want a time as 2026-11-24T09:30:00Z, or one from the beginning as 90s`},
		{"a --from 10s --to 10s", "--from 10s is not before --to 10s"},
		{"a --from 2026-11-24T09:30:01Z --to 2026-11-24T09:30:00Z", "--from 2026-11-24T09:30:01Z is not before --to 2026-11-24T09:30:00Z"},
		{"a --loop=0", `--loop: got "0", want how often, 1 or more`},
		{"a --map 5", `--map: got "5", want FROM=TO: tags, or a range FIRST-LAST and the tag for FIRST`},
		{"a --map 5,6=7", `--map: got "5", want FROM=TO: tags, or a range FIRST-LAST and the tag for FIRST`},
		{"a --map 5&6=7", `--map: got the pattern "5&6" before =, want one tag or one range FIRST-LAST`},
		{"a --map 1-2=0xffffffffffffffff", `--map: "1-2=0xffffffffffffffff": from 0xffffffffffffffff on there are fewer tags than in "1-2"`},
		{"a --map 1-5=7,5=9", "--map 0x0000000000000001-0x0000000000000005=0x0000000000000007 and 0x0000000000000005=0x0000000000000009 both say what becomes of 0x0000000000000005: leave one of them out"},
	} {
		if _, err := tooltest.Read[Command](test.line); err == nil || cli.Text(err) != test.want {
			t.Errorf("%s: got %v, want %s", test.line, err, test.want)
		}
	}
}

func TestFlags(t *testing.T) {
	for _, test := range []struct {
		line   string
		passes int
		files  int
	}{
		{"a b", 1, 2},
		{"--loop 3", 0, 1},
		{"--loop=3 a", 3, 1},
		{"--loop=true a", 0, 1},
		{"--loop=false a", 1, 1},
	} {
		c, err := tooltest.Read[Command](test.line)
		if err != nil || c.Loop.passes() != test.passes || len(c.Files) != test.files {
			t.Errorf("%s: got %+v and error %v, want %d passes of %d files", test.line, c, err, test.passes, test.files)
		}
	}
	c := tooltest.MustRead[Command](t, "a --from 1m30s --to 2026-11-24T10:30:00+01:00 --map 5=6")
	if got, want := c.From.in(epoch), epoch.Add(90*time.Second); !got.Equal(want) {
		t.Errorf("--from: got %v, want %v", got, want)
	}
	if got := c.To.in(epoch.Add(time.Hour)); !got.Equal(epoch) {
		t.Errorf("--to: got %v, want %v", got, epoch)
	}
	if got := (Moment{}).in(epoch); !got.IsZero() {
		t.Errorf("no moment: got %v, want none", got)
	}
}

func TestMapper(t *testing.T) {
	c := tooltest.MustRead[Command](t, "a --map 0x100-0x1ff=0x500,7=1,0x200-0xffffffffffffffff=0")
	m, err := newMapper(c.Map)
	testkit.Must(t, err)
	for from, want := range map[tags.Tag]tags.Tag{
		0: 0, 6: 6, 7: 1, 8: 8, 0xff: 0xff, 0x100: 0x500, 0x101: 0x501, 0x1ff: 0x5ff, 0x200: 0, 1<<64 - 1: 1<<64 - 0x201,
	} {
		if got := m.of(from); got != want {
			t.Errorf("%v: got %v, want %v", from, got, want)
		}
		if got := mapper(nil).of(from); got != from {
			t.Errorf("%v without --map: got %v", from, got)
		}
	}
}
