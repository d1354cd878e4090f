// SPDX-License-Identifier: Apache-2.0

// Package completion makes the scripts by which a shell completes the flags of a
// program, and its commands if it has some: for bash, zsh and fish, from the flags
// themselves.
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
	"backend":  {"auto", "shm,tcp", "tcp", "tls", "rdma", "rdma:"},
	"map":      {"round-robin", "offset:"},
	"policies": {"block", "drop-newest", "drop-oldest", "latest", "sample", "disconnect"},
	"policy":   {"block", "drop-newest", "drop-oldest", "latest", "sample:", "disconnect:"},
	"role":     {"publisher", "receiver", "subscriber", "sender"},
	"by":       {"msgs", "bytes", "queue", "lost"},
	"codec":    {"none", "s2", "zstd"},
	"print":    {"hex", "text", "json", "none"},
	"format":   {"hex", "text", "json", "raw"},
	"sort":     {"name", "rate", "bytes", "lost", "since"},
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

// program is a program as a shell sees it.
type program struct {
	name     string
	flags    []flag
	commands []command
}

// command is one of several commands of a program.
type command struct {
	name    string
	aliases []string
	help    string
	flags   []flag   // those of the program too, unless it has a command line of its own
	words   []string // with which an argument can begin
}

// names returns all names of a command.
func (c *command) names() []string { return append([]string{c.name}, c.aliases...) }

// programOf returns what a shell sees of a program.
func programOf(app *kong.Application) program {
	p := program{name: app.Name, flags: flags(app.Flags)}
	for _, node := range app.Children {
		if node.Hidden {
			continue
		}
		own := ownFlags(node)
		if !node.Passthrough {
			own = append(own[:len(own):len(own)], app.Flags...)
		}
		c := command{name: node.Name, aliases: node.Aliases, help: brief(node.Help), flags: flags(own)}
		for _, arg := range node.Positional {
			if arg.Enum != "" {
				c.words = append(c.words, strings.Split(arg.Enum, ",")...)
			}
		}
		for _, within := range node.Children {
			c.words = append(c.words, within.Name)
		}
		p.commands = append(p.commands, c)
	}
	return p
}

// ownFlags returns the flags of a command, and of all commands within it, each once.
func ownFlags(node *kong.Node) []*kong.Flag {
	own := node.Flags[:len(node.Flags):len(node.Flags)]
	for _, within := range node.Children {
		for _, f := range within.Flags {
			if !slices.ContainsFunc(own, func(o *kong.Flag) bool { return o.Name == f.Name }) {
				own = append(own, f)
			}
		}
	}
	return own
}

// flags returns those of some flags that are shown, by name.
func flags(of []*kong.Flag) (all []flag) {
	for _, f := range of {
		if f.Hidden {
			continue
		}
		one := flag{name: f.Name, help: brief(f.Help), takes: text}
		if f.Short != 0 {
			one.short = string(f.Short)
		}
		if f.IsBool() || f.IsCounter() || strings.HasPrefix(f.FormatPlaceHolder(), "[") { // its value may be left out
			one.takes = nothing
			all = append(all, one)
			continue
		}
		one.value = f.FormatPlaceHolder()
		one.words = slices.DeleteFunc(slices.Clone(values[f.Name]), func(w string) bool {
			return !strings.Contains(f.Help, strings.TrimSuffix(w, ":")) // of another command
		})
		switch {
		case len(one.words) > 0:
			one.takes = word
		case strings.HasPrefix(one.value, "DIR"):
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

// wordsOf returns the names of the flags of a command, and the words of its arguments.
func wordsOf(words []string, all []flag) []string {
	for _, f := range all {
		words = append(words, "--"+f.name)
	}
	return words
}

// Shell is a shell for which there are scripts.
type Shell struct {
	Name string
	file func(command string) string
	make func(p program) string
}

// Shells are those for which there are scripts.
var Shells = []Shell{
	{"bash", func(c string) string { return c }, bash},
	{"zsh", func(c string) string { return "_" + c }, zsh},
	{"fish", func(c string) string { return c + ".fish" }, fish},
}

// File returns the name that the script of a program must have for the shell to find it.
func (s Shell) File(command string) string { return s.file(command) }

// Write writes the script of a program.
//
//   - Errors: those of w.
func (s Shell) Write(w io.Writer, app *kong.Application) error {
	_, err := io.WriteString(w, s.make(programOf(app)))
	return err
}
