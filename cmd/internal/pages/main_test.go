// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"tagbus/cmd/internal/manual"
	"tagbus/internal/testkit"
)

// written returns the folder of a release's pages.
func written(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	testkit.Must(t, write(dir, manual.Release{Version: "v0.1.0", Date: "2026-11-23"}))
	return dir
}

// need returns a tool, or skips the test.
func need(t *testing.T, tool string) string {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Skipf("needs %s (Debian: %s)", tool, tool)
	}
	return path
}

// silent runs a tool that has nothing to say of what is right.
func silent(t *testing.T, args ...string) {
	t.Helper()
	out, err := exec.Command(need(t, args[0]), args[1:]...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%s: got error %v and\n%s", strings.Join(args, " "), err, out)
	}
}

func TestToolsFindNothingWrongWithThePages(t *testing.T) {
	dir := written(t)
	for _, c := range commands {
		t.Run(c.name, func(t *testing.T) {
			t.Run("mandoc", func(t *testing.T) {
				silent(t, "mandoc", "-T", "lint", "-W", "warning", filepath.Join(dir, "man", c.name+".1"))
			})
			t.Run("bash", func(t *testing.T) {
				silent(t, "bash", "-n", filepath.Join(dir, "completion", "bash", c.name))
			})
			t.Run("zsh", func(t *testing.T) {
				silent(t, "zsh", "-n", filepath.Join(dir, "completion", "zsh", "_"+c.name))
			})
			t.Run("fish", func(t *testing.T) {
				silent(t, "fish", "-n", filepath.Join(dir, "completion", "fish", c.name+".fish"))
			})
		})
	}
}

func TestThePageShowsEveryFlag(t *testing.T) {
	mandoc, dir := need(t, "mandoc"), written(t)
	for _, c := range commands {
		out, err := exec.Command(mandoc, "-T", "utf8", "-O", "width=120", filepath.Join(dir, "man", c.name+".1")).Output()
		testkit.Must(t, err)
		page := plain(string(out))
		app, err := c.model()
		testkit.Must(t, err)
		flags := app.Flags
		var add func(nodes []*kong.Node)
		add = func(nodes []*kong.Node) {
			for _, node := range nodes {
				if !node.Passthrough { // else it has a page of its own
					flags = append(flags, node.Flags...)
				}
				add(node.Children)
			}
		}
		add(app.Children)
		for _, f := range flags {
			if f.Hidden {
				continue
			}
			want := "--" + f.Name
			if !f.IsBool() {
				want += " " + f.FormatPlaceHolder()
			}
			line := regexp.MustCompile(`(?m)^ +(-. ?, )?` + regexp.QuoteMeta(want) + `( |$)`)
			if !line.MatchString(page) {
				t.Errorf("the page of %s has no line that begins with %q", c.name, want)
			}
		}
	}
}

// plain removes how a terminal was to show text: a letter over itself or over a line.
func plain(page string) string {
	var b []rune
	for _, r := range page {
		if r == '\b' {
			b = b[:len(b)-1]
		} else {
			b = append(b, r)
		}
	}
	return string(b)
}

func TestBashCompletes(t *testing.T) {
	bash, dir := need(t, "bash"), written(t)
	folder := t.TempDir()
	for _, name := range []string{"bus-a", "bus-b"} {
		testkit.Must(t, os.Mkdir(filepath.Join(folder, name), 0o700))
	}
	testkit.Must(t, os.WriteFile(filepath.Join(folder, "bus-file"), nil, 0o600))
	tests := []struct {
		name    string
		command string
		words   []string // as bash cuts them; the last one is completed
		want    string
	}{
		{"a flag", "publisher", []string{"publisher", "--heartb"}, "--heartbeat --heartbeat-timeout"},
		{"a flag of the other command", "publisher", []string{"publisher", "--until"}, ""},
		{"a directory", "publisher", []string{"publisher", "--bus", "bus-"}, "[-o filenames] bus-a bus-b"},
		{"a directory after =", "publisher", []string{"publisher", "--bus", "=", "bus-a"}, "[-o filenames] bus-a"},
		{"nothing yet after =", "subscriber", []string{"subscriber", "--output", "="}, "[-o filenames] bus-a bus-b bus-file"},
		{"a policy", "subscriber", []string{"subscriber", "--policy", "drop"}, "drop-newest drop-oldest"},
		{"a policy that goes on", "subscriber", []string{"subscriber", "--policy", "sam"}, "[-o nospace] sample:"},
		{"its number", "subscriber", []string{"subscriber", "--policy", "sample", ":", ""}, ""},
		{"a value that is free", "publisher", []string{"publisher", "--rate", ""}, ""},
		{"a command", "tagbus", []string{"tagbus", "inf"}, "info"},
		{"a command behind flags", "tagbus", []string{"tagbus", "--bus", "ls", "--json", "compl"}, "completion"},
		{"a command behind a flag with =", "tagbus", []string{"tagbus", "--bus", "=", "ls", "compl"}, "completion"},
		{"a flag of a command", "tagbus", []string{"tagbus", "ls", "--ho"}, "--host"},
		{"a flag of a command behind one of all", "tagbus", []string{"tagbus", "--bus", "info", "ls", "--ho"}, "--host"},
		{"a flag of all behind a command", "tagbus", []string{"tagbus", "hz", "--bus", "bus-"}, "[-o filenames] bus-a bus-b"},
		{"a flag of another command", "tagbus", []string{"tagbus", "hz", "--ho"}, ""},
		{"a word of a flag of a command", "tagbus", []string{"tagbus", "ls", "--sort", "=", "l"}, "lost"},
		{"an argument of a command", "tagbus", []string{"tagbus", "completion", "z"}, "zsh"},
		{"a flag of a program that is a command", "tagbus", []string{"tagbus", "subscribe", "--until"}, "--until-goodbye"},
		{"raw, read", "publisher", []string{"publisher", "--record", "ra"}, "raw"},
		{"raw, written", "subscriber", []string{"subscriber", "--record", "ra"}, "raw"},
	}
	// What compopt sets is only known to bash while it completes.
	const script = `compopt() { options+="[$*] "; }
source "$1"; function=_$2; shift 2
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
"$function" || exit; mapfile -t COMPREPLY < <(printf '%s\n' "${COMPREPLY[@]}" | sort); echo "$options${COMPREPLY[*]}"`
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(dir, "completion", "bash", tt.command)
			cmd := exec.Command(bash, append([]string{"-c", script, "bash", file, tt.command}, tt.words...)...)
			cmd.Dir = folder
			cmd.Env = append(os.Environ(), "LC_ALL=C")
			out, err := cmd.CombinedOutput()
			if got := strings.TrimSuffix(string(out), "\n"); err != nil || got != tt.want {
				t.Errorf("got %q and error %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestFishCompletes(t *testing.T) {
	fish, dir := need(t, "fish"), written(t)
	tests := []struct{ line, want string }{
		{"publisher --heartbeat-", "--heartbeat-timeout"},
		{"subscriber --policy drop-", "drop-newest drop-oldest"},
		{"subscriber --count ", ""},
		{"tagbus comp", "completion"},
		{"tagbus ls --ho", "--host"},
		{"tagbus hz --ho", ""},
		{"tagbus ls --sort l", "lost"},
		{"tagbus completion z", "zsh"},
		{"tagbus subscribe --until", "--until-goodbye"},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			command, _, _ := strings.Cut(tt.line, " ")
			file := filepath.Join(dir, "completion", "fish", command+".fish")
			cmd := exec.Command(fish, "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, file, tt.line)
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
			out, err := cmd.Output()
			var got []string
			for line := range strings.Lines(string(out)) {
				word, _, _ := strings.Cut(strings.TrimSpace(line), "\t") // then its description
				got = append(got, word)
			}
			if err != nil || strings.Join(got, " ") != tt.want {
				t.Errorf("got %q and error %v, want %q", got, err, tt.want)
			}
		})
	}
}
