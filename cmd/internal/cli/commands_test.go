// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
)

// look is a command with flags.
type look struct {
	Name  string `arg:"" optional:""`
	Count int
	Watch tool.Watch `placeholder:"[TIME]"`
	Verb  bool       `short:"v"`
}

// Check refuses a count that is negative.
func (l *look) Check() error {
	if l.Count < 0 {
		return fmt.Errorf("--count: got %d, want 0 or more", l.Count)
	}
	return nil
}

// several is a program with commands.
type several struct {
	tool.Flags

	Look  look     `cmd:"" aliases:"see"`
	Other struct{} `cmd:""`
}

func (s *several) Check() error {
	if s.Bus == "" {
		return errors.New("--bus: got no directory")
	}
	return nil
}

func TestParseCommand(t *testing.T) {
	tests := []struct {
		name string
		file string
		env  string // NAME=VALUE, separated by blanks
		args string
		want string // the command and the values, or what is said
	}{
		{"flags before and behind", "", "", "--bus b look x --count 3", `look: bus "b" name "x" count 3 watch 0s false`},
		{"behind alone, by another name", "", "", "see -v --bus=b", `look: bus "b" name "" count 0 watch 0s true`},
		{"another command", "", "", "other --bus=b", `other: bus "b" name "" count 0 watch 0s false`},
		{"a time that is left out", "", "", "look --bus=b --watch x", `look: bus "b" name "x" count 0 watch 2s false`},
		{"a time that is left out at the end", "", "", "look --bus=b --watch", `look: bus "b" name "" count 0 watch 2s false`},
		{"a time that is left out before a flag", "", "", "look --watch -v --bus=b", `look: bus "b" name "" count 0 watch 2s true`},
		{"a time", "", "", "look --bus=b --watch 5s x", `look: bus "b" name "x" count 0 watch 5s false`},
		{"a time behind =", "", "", "look --bus=b --watch=100ms", `look: bus "b" name "" count 0 watch 100ms false`},
		{"a time that is none", "", "", "look --bus=b --watch=often", `tool: look: --watch: got "often", want a time with its unit, for example 5s` + "\ntool: see tool look --help"},
		{"a time that is too short", "", "", "look --bus=b --watch 1ms", `tool: look: --watch: got 1ms, want at least 100ms` + "\ntool: see tool look --help"},
		{"the environment", "", "TAGBUS_BUS=b TAGBUS_LOOK_COUNT=7 TAGBUS_COUNT=8 TAGBUS_LOOK_WATCH=true", "look", `look: bus "b" name "" count 7 watch 2s false`},
		{"the file", "bus = 'b'\n[look]\ncount = 9\nwatch = '3s'\n", "", "look --config FILE", `look: bus "b" name "" count 9 watch 3s false`},
		{"the file, with dots", "bus = 'b'\nlook.count = 9\n", "", "look --config FILE", `look: bus "b" name "" count 9 watch 0s false`},
		{"the file, of another command", "bus = 'b'\n[look]\ncount = 9\n", "", "other --config FILE", `other: bus "b" name "" count 0 watch 0s false`},
		{"a false watch", "bus = 'b'\n[look]\nwatch = false\n", "", "look --config FILE", `look: bus "b" name "" count 0 watch 0s false`},

		{"wrong in the command", "", "", "look --bus b --count=-1", "tool: look: --count: got -1, want 0 or more\ntool: see tool look --help"},
		{"wrong in the program", "", "", "look", "tool: look: --bus: got no directory\ntool: see tool look --help"},
		{"an unknown flag", "", "", "look --bus b --cuont 3", "tool: look: unknown flag --cuont, did you mean \"--count\"?\ntool: see tool look --help"},
		{"an unknown command", "", "", "lok --bus b", "tool: unexpected argument lok, did you mean \"look\"?\ntool: see tool --help"},
		{"no command", "", "", "--bus b", "tool: expected one of \"look\", \"other\"\ntool: see tool --help"},
		{"a wrong value in a table", "bus = 'b'\n\n[look]\n# much\ncount = 'many'\n", "", "look --config FILE", "tool: look: FILE:5: look.count: got \"many\", want a whole number, for example 10\ntool: see tool look --help"},
		{"where a value is from", "bus = 'b'\n[look]\ncount = -3\n", "", "look --config FILE", "tool: look: --count: got -3, want 0 or more (--count is from FILE:3)\ntool: see tool look --help"},
		{"an unknown key of a table", "bus = 'b'\n[look]\ncoun = 3\nbus = 'x'\nzzz = 3\n", "", "look --config FILE", "tool: look: FILE:3: unknown key \"coun\", did you mean \"count\"?; FILE:4: unknown key \"bus\": want the name of a flag of look, without dashes in front; FILE:5: unknown key \"zzz\": want the name of a flag of look, without dashes in front\ntool: see tool look --help"},
		{"an unknown table", "bus = 'b'\n[loook]\ncount = 3\n", "", "look --config FILE", "tool: look: FILE:2: unknown key \"loook\", did you mean \"look\"?\ntool: see tool look --help"},
		{"a flag of a command without table", "bus = 'b'\ncount = 3\n", "", "look --config FILE", "tool: look: FILE:2: unknown key \"count\": want the name of a flag or a command, without dashes in front\ntool: see tool look --help"},
		{"a command that is no table", "bus = 'b'\nlook = 3\n", "", "look --config FILE", "tool: look: FILE:2: look: got a value, want a table with flags of the command: [look]\ntool: see tool look --help"},
		{"a table in a table", "bus = 'b'\n[look.count]\nx = 3\n", "", "look --config FILE", "tool: look: FILE: look.count: got a table, want a text, a number, true or false, or a list of these\ntool: see tool look --help"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var flags several
			args, streams, said := given(t, test.file, test.env, test.args)
			command, name, code, run := cli.ParseCommand(cli.Program{Name: "tool"}, &flags, args, streams)
			got := strings.TrimSuffix(said(), "\n")
			if run {
				l := &flags.Look
				got = fmt.Sprintf("%s: bus %q name %q count %d watch %v %t", name, flags.Bus, l.Name, l.Count, l.Watch.Every(), l.Verb)
				if is := command == any(l); is != (name == "look") {
					t.Errorf("got %T for %s", command, name)
				}
			} else if code != cli.ExitUsage {
				t.Errorf("got status %d, want %d", code, cli.ExitUsage)
			}
			if got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestCommandAt(t *testing.T) {
	tests := []struct {
		args string
		name string
		at   int
	}{
		{"look", "look", 0},
		{"--bus look look --count 3", "look", 2},
		{"--bus=look --json see x", "look", 2},
		{"--bus look", "", 0},
		{"--unknown look", "", 0},
		{"look --unknown", "look", 0},
	}
	for _, test := range tests {
		name, at, ok := cli.CommandAt(cli.Program{Name: "tool"}, new(several), strings.Fields(test.args))
		if name != test.name || at != test.at || ok != (test.name != "") {
			t.Errorf("%s: got %q at %d, %t, want %q at %d", test.args, name, at, ok, test.name, test.at)
		}
	}
}

// nested is a program whose command has commands.
type nested struct {
	tool.Flags

	Deep struct {
		Look look `cmd:""`
		Dig  look `cmd:""`
	} `cmd:""`
}

func TestACommandWithinACommand(t *testing.T) {
	tests := []struct{ name, file, env, args, want string }{
		{"flags", "", "", "deep look x --count 3", `deep look: name "x" count 3`},
		{"the environment", "", "TAGBUS_DEEP_LOOK_COUNT=7", "deep look", `deep look: name "" count 7`},
		{"the file", "[deep.look]\ncount = 9\n[deep.dig]\ncount = 8\n", "", "deep look --config FILE", `deep look: name "" count 9`},
		{"wrong in the command", "", "", "deep look --count=-1", "tool: deep look: --count: got -1, want 0 or more\ntool: see tool deep look --help"},
		{"an unknown key", "[deep.look]\ncoun = 9\n", "", "deep look --config FILE", "tool: deep look: FILE:2: unknown key \"coun\", did you mean \"count\"?\ntool: see tool deep look --help"},
		{"a key of no command", "[deep]\ncount = 9\n", "", "deep look --config FILE", "tool: deep look: FILE:2: unknown key \"count\": want the name of a flag of deep, without dashes in front\ntool: see tool deep look --help"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var flags nested
			args, streams, said := given(t, test.file, test.env, test.args)
			_, name, _, run := cli.ParseCommand(cli.Program{Name: "tool"}, &flags, args, streams)
			got := strings.TrimSuffix(said(), "\n")
			if run {
				got = fmt.Sprintf("%s: name %q count %d", name, flags.Deep.Look.Name, flags.Deep.Look.Count)
			}
			if got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}
