// SPDX-License-Identifier: Apache-2.0

// Package completion makes the scripts by which a shell completes the flags of a
// command: for bash, zsh and fish, from the flags themselves.
package completion

import (
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// values are the words with which the value of a flag can begin, by the name of the
// flag. One that ends in a colon goes on.
var values = map[string][]string{
	"backend":  {"tcp", "rdma", "rdma:"},
	"map":      {"round-robin", "offset:"},
	"policies": {"block", "drop-newest", "drop-oldest", "latest", "sample", "disconnect"},
	"policy":   {"block", "drop-newest", "drop-oldest", "latest", "sample:", "disconnect:"},
	"record":   {"raw", "fixed:", "lines", "length32", "pcap", "pcapng"},
}

// kind is what a flag takes.
type kind int

const (
	nothing   kind = iota // it takes no value
	text                  // a value that a shell cannot guess
	word                  // one of words
	directory             // the path of a directory
	file                  // the path of a file
)

// flag is a flag as a shell sees it.
type flag struct {
	name  string // without its hyphens
	short string // a letter, or empty
	takes kind
	value string   // what its value is called
	words []string // of the kind word
	help  string   // some words
}

// flags returns the flags of a command that are shown, by name.
func flags(app *kong.Application) (all []flag) {
	for _, f := range app.Flags {
		if f.Hidden {
			continue
		}
		one := flag{name: f.Name, help: brief(f.Help), takes: text}
		if f.Short != 0 {
			one.short = string(f.Short)
		}
		if f.IsBool() || f.IsCounter() {
			one.takes = nothing
			all = append(all, one)
			continue
		}
		one.value = f.FormatPlaceHolder()
		switch {
		case values[f.Name] != nil:
			one.takes = word
			one.words = slices.DeleteFunc(slices.Clone(values[f.Name]), func(w string) bool {
				return !strings.Contains(f.Help, strings.TrimSuffix(w, ":")) // of the other command
			})
		case one.value == "DIR":
			one.takes = directory
		case strings.HasPrefix(one.value, "FILE"):
			one.takes = file
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b flag) int { return strings.Compare(a.name, b.name) })
	return all
}

// brief returns the beginning of a help text, up to the first stop that leaves more
// than a word or two.
func brief(help string) string {
	const least = 12
	end := len(help)
	for _, stop := range []string{". ", "; ", ": ", " (", ", for example"} {
		if i := strings.Index(help, stop); i >= least {
			end = min(end, i)
		}
	}
	return strings.TrimSuffix(help[:end], ".")
}

// Shell is a shell for which there are scripts.
type Shell struct {
	Name string
	file func(command string) string
	make func(command string, all []flag) string
}

// Shells are those for which there are scripts.
var Shells = []Shell{
	{"bash", func(c string) string { return c }, bash},
	{"zsh", func(c string) string { return "_" + c }, zsh},
	{"fish", func(c string) string { return c + ".fish" }, fish},
}

// File returns the name that the script of a command must have for the shell to find it.
func (s Shell) File(command string) string { return s.file(command) }

// Write writes the script of a command.
//
//   - Errors: those of w.
func (s Shell) Write(w io.Writer, app *kong.Application) error {
	_, err := io.WriteString(w, s.make(app.Name, flags(app)))
	return err
}
