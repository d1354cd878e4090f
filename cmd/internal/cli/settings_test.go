// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/options"
	"tagbus/internal/testkit"
)

// more are flags of all forms.
type more struct {
	cli.Common
	Number    int
	Deep      int
	Advertise []cli.Announced
	One       string `xor:"one" required:""`
	Other     string `xor:"one" required:""`
	Sure      bool
}

// values shows what the flags are.
func (m *more) values() string {
	return fmt.Sprintf("bus %q number %d advertise %v one %q other %q sure %t quiet %t duration %v metrics %v",
		m.Bus, m.Number, options.AddrPorts(m.Advertise), m.One, m.Other, m.Sure, m.Quiet, m.Duration, m.Metrics)
}

// Check refuses a deep that is negative.
func (m *more) Check() error {
	if m.Deep < 0 {
		return fmt.Errorf("--deep: got %d, want 0 or more", m.Deep)
	}
	return m.Common.Check()
}

// given makes the file and the environment of a command line, in which FILE stands for the file.
//
//   - said: what was written to standard error.
func given(t *testing.T, file, env, line string) (args []string, s cli.Streams, said func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tool.toml")
	testkit.Must(t, os.WriteFile(path, []byte(file), 0o600))
	for pair := range strings.FieldsSeq(strings.ReplaceAll(env, "FILE", path)) {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	var errs bytes.Buffer
	said = func() string { return strings.ReplaceAll(errs.String(), path, "FILE") }
	return strings.Fields(strings.ReplaceAll(line, "FILE", path)), cli.Streams{Out: io.Discard, Err: &errs}, said
}

func TestSettings(t *testing.T) {
	const (
		rest    = ` advertise [] one "1" other "" sure false quiet false duration 0s metrics <nil>`
		needed  = "bus = \"b\"\none = \"1\"\n"
		seeHelp = "\ntool: see tool --help\n"
	)
	tests := []struct {
		name string
		file string
		env  string // NAME=VALUE, separated by blanks
		args string
		want string // the values, or what is said
	}{
		{"all from the command line", "", "", "--bus b --number 1 --one 1", `bus "b" number 1` + rest},
		{"all from the environment", "", "TAGBUS_BUS=b TAGBUS_NUMBER=2 TAGBUS_ONE=1", "", `bus "b" number 2` + rest},
		{"all from the file", needed + "number = 3", "", "--config FILE", `bus "b" number 3` + rest},
		{"the environment names the file", needed + "number = 3", "TAGBUS_CONFIG=FILE", "", `bus "b" number 3` + rest},
		{"the environment comes before the file", needed + "number = 3", "TAGBUS_NUMBER=2", "--config FILE", `bus "b" number 2` + rest},
		{"the command line comes first", needed + "number = 3", "TAGBUS_NUMBER=2", "--config FILE --number 1", `bus "b" number 1` + rest},
		{"the command line's file comes first", needed + "number = 3", "TAGBUS_CONFIG=nowhere", "--config FILE", `bus "b" number 3` + rest},
		{"an empty variable is none", needed + "number = 3", "TAGBUS_NUMBER=", "--config FILE", `bus "b" number 3` + rest},
		{"what the command line says is not read elsewhere", needed + "number = true", "TAGBUS_NUMBER=x", "--config FILE --number 1", `bus "b" number 1` + rest},
		{
			"all forms from the file", "bus = 'b'\nother = 5\nsure = true\nquiet = true\nadvertise = [\"10.0.0.1\", \"10.0.0.2:5\"]\nduration = \"1m30s\"\nmetrics = \"127.0.0.1:80\"", "", "--config FILE",
			`bus "b" number 0 advertise [10.0.0.1:0 10.0.0.2:5] one "" other "5" sure true quiet true duration 1m30s metrics 127.0.0.1:80`,
		},
		{
			"all forms from the environment", "", "TAGBUS_BUS=b TAGBUS_OTHER=5 TAGBUS_SURE=yes TAGBUS_QUIET=true TAGBUS_ADVERTISE=10.0.0.1,10.0.0.2:5 TAGBUS_DURATION=1m30s TAGBUS_METRICS=127.0.0.1:80", "",
			`bus "b" number 0 advertise [10.0.0.1:0 10.0.0.2:5] one "" other "5" sure true quiet true duration 1m30s metrics 127.0.0.1:80`,
		},
		{"a switch that the file turns off", needed + "sure = false", "", "--config FILE", `bus "b" number 0` + rest},
		{"a switch that the command line turns off", needed + "sure = true", "", "--config FILE --sure=false", `bus "b" number 0` + rest},

		{"no file", "", "", "--config nowhere/at-all --bus b --one 1", "tool: --config: open nowhere/at-all: no such file or directory" + seeHelp},
		{"an unknown key", needed + "\nnubmer = 3", "", "--config FILE", `tool: FILE:4: unknown key "nubmer", did you mean "number"?` + seeHelp},
		{"an unknown key like no other", needed + "\"x y\" = 3", "", "--config FILE", `tool: FILE:3: unknown key "x y": want the name of a flag, without dashes in front` + seeHelp},
		{"another form of a name", needed + "heartbeat_timeout = '6s'", "", "--config FILE", `tool: FILE:3: unknown key "heartbeat_timeout", did you mean "heartbeat-timeout"?` + seeHelp},
		{"several unknown keys", "nubmer = 3\nbuss = 'b'", "", "--config FILE", `tool: FILE:1: unknown key "nubmer", did you mean "number"?; FILE:2: unknown key "buss", did you mean "bus"?` + seeHelp},
		{"a table", needed + "[publisher]\nnumber = 3", "", "--config FILE", `tool: FILE:3: unknown key "publisher": want the name of a flag, without dashes in front` + seeHelp},
		{"a table for a flag", needed + "[number]\nx = 3", "", "--config FILE", `tool: FILE:3: number: got a table, want a text, a number, true or false, or a list of these` + seeHelp},
		{"a key with a dot", needed + "number.x = 3", "", "--config FILE", `tool: FILE:3: number: got a table, want a text, a number, true or false, or a list of these` + seeHelp},
		{"a list for a flag that takes one value", needed + "name = ['a', 'b']", "", "--config FILE", `tool: FILE:3: name: got a list, want one value` + seeHelp},
		{"a list for a switch", needed + "sure = []", "", "--config FILE", `tool: FILE:3: sure: got a list, want one value` + seeHelp},
		{"an empty list", needed + "advertise = []", "", "--config FILE", `bus "b" number 0` + rest},
		{"a list of lists", needed + "advertise = [[1]]", "", "--config FILE", `tool: FILE:3: advertise: got a list of tables or lists, want a text, a number, true or false, or a list of these` + seeHelp},
		{"a list of tables", needed + "[[advertise]]\nx = 1", "", "--config FILE", `tool: FILE:3: advertise: got a list of tables or lists, want a text, a number, true or false, or a list of these` + seeHelp},
		{"a number of 64 bits, and a fraction", needed + "number = 0x7fffffffffffffff\ndeep = 1.5", "", "--config FILE", `tool: FILE:4: deep: got "1.5", want a whole number, for example 10` + seeHelp},
		{"a date", needed + "number = 1979-05-27", "", "--config FILE", `tool: FILE:3: number: got a date or time, want a text, a number, true or false, or a list of these` + seeHelp},
		{"a file in a file", needed + "config = 'x'", "", "--config FILE", `tool: FILE:3: unknown key "config": want the name of a flag, without dashes in front` + seeHelp},
		{"help in a file", needed + "help = true", "", "--config FILE", `tool: FILE:3: unknown key "help": want the name of a flag, without dashes in front` + seeHelp},
		{"no TOML", needed + "number 3", "", "--config FILE", `tool: FILE:3: expected '.' or '=', but got '3' instead` + seeHelp},
		{"a key twice", needed + "number = 3\nnumber = 4", "", "--config FILE", `tool: FILE:4: Key 'number' has already been defined.` + seeHelp},

		{"a wrong value in the file", needed + "number = \"many\"", "", "--config FILE", `tool: FILE:3: number: got "many", want a whole number, for example 10` + seeHelp},
		{"a wrong value in the environment", needed, "TAGBUS_NUMBER=many", "--config FILE", `tool: TAGBUS_NUMBER: got "many", want a whole number, for example 10` + seeHelp},
		{"a time without unit", needed + "duration = 5", "", "--config FILE", `tool: FILE:3: duration: got "5", want a time with its unit, for example 5s or 5ms` + seeHelp},
		{"a wrong part of a list", needed + "advertise = ['10.0.0.1:0']", "", "--config FILE", `tool: FILE:3: advertise: "10.0.0.1:0" has port 0, which cannot be dialled: want ADDR:PORT, or ADDR for the port that was bound` + seeHelp},
		{"a switch that is neither", needed + "sure = 'perhaps'", "", "--config FILE", `tool: FILE:3: sure: got "perhaps", want true or false` + seeHelp},
		{"a value in the file that is impossible", needed + "\n\ndeep = -1", "", "--config FILE", `tool: --deep: got -1, want 0 or more (--deep is from FILE:5)` + seeHelp},
		{"a value in the environment that is impossible", "", "TAGBUS_DEEP=-1", "--bus b --one 1", `tool: --deep: got -1, want 0 or more (--deep is from TAGBUS_DEEP)` + seeHelp},
		{"flags that exclude each other", needed, "TAGBUS_OTHER=2", "--config FILE", `tool: --one and --other can't be used together (--one is from FILE:2, --other is from TAGBUS_OTHER)` + seeHelp},
		{"flags are missing", "number = 1", "", "--config FILE", "tool: missing flags: --bus=DIR|URL, --one=STRING or --other=STRING" + seeHelp},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			flags := new(more)
			args, streams, said := given(t, test.file, test.env, test.args)
			_, run := cli.Parse(cli.Program{Name: "tool"}, flags, args, streams)
			got := said()
			if run {
				got = flags.values()
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// The help says the variable of each flag, except of those that say something and stop.
func TestTheHelpNamesTheVariables(t *testing.T) {
	var out bytes.Buffer
	t.Setenv("TAGBUS_NUMBER", "a wrong one disturbs no help")
	cli.Parse(cli.Program{Name: "tool"}, new(more), []string{"--help"}, cli.Streams{Out: &out, Err: &out})
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"What is not on the command line comes from the environment variable of its flag, then from the file of --config, then it has its default. An empty variable counts for none.",
		"($TAGBUS_BUS) --backend", "($TAGBUS_HEARTBEAT_TIMEOUT) --loss-file", "($TAGBUS_CONFIG) --metrics", "--version Print the version and stop. --fabrics", "($TAGBUS_NUMBER)",
		`Read values of flags from a TOML file. Its keys are their names without the dashes in front: tags = "0x100-0x10f". ($TAGBUS_CONFIG)`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want it to hold %s", got, want)
		}
	}
	if strings.Contains(got, "TAGBUS_HELP") || strings.Contains(got, "TAGBUS_VERSION") || strings.Contains(got, "TAGBUS_FABRICS") {
		t.Errorf("got %s, want no variable of --help, --version and --fabrics", got)
	}
}
