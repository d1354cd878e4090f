// SPDX-License-Identifier: Apache-2.0

// Package manual makes the man page of a command from its flags.
package manual

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// Release is what a page says of where it comes from.
type Release struct {
	Version string // for example v0.1.0
	Date    string // year-month-day
}

// Write writes the page of a command, section 1, in the macros of man(7).
//
//   - app: its description is a sentence, whose part before a colon the page takes for the
//     name, an empty line, and paragraphs of the same form.
//   - seeAlso: the names of the commands that the page refers to.
//   - Errors: those of w.
func Write(w io.Writer, app *kong.Application, r Release, seeAlso ...string) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	paragraphs := strings.Split(app.Help, "\n\n")

	line(`.TH %s 1 %s "tagbus %s" "tagbus"`, strings.ToUpper(app.Name), r.Date, escape(r.Version))
	line(".SH NAME")
	purpose, _, _ := strings.Cut(paragraphs[0], ":")
	line(`%s \- %s`, app.Name, escape(lowerFirst(strings.TrimSuffix(purpose, "."))))
	line(".SH SYNOPSIS")
	line(".B %s", app.Name)
	for _, need := range needed(app.Flags) {
		line("%s", need)
	}
	if len(app.Children) > 0 {
		line(`.I command`)
	}
	line(`.RI [ flags ]`)
	line(".SH DESCRIPTION")
	for i, p := range paragraphs {
		if i > 0 {
			line(".PP")
		}
		line("%s", text(p))
	}
	line(".SH OPTIONS")
	options(line, app.Flags)
	if len(app.Children) > 0 {
		line(".SH COMMANDS")
		for _, c := range app.Children {
			if !c.Hidden {
				command(line, c)
			}
		}
	}
	line(".SH SEE ALSO")
	line(".BR %s (1)", strings.Join(seeAlso, " (1),\n.BR "))
	_, err := io.WriteString(w, b.String())
	return err
}

// command writes what a command is, with its arguments and flags.
func command(line func(string, ...any), c *kong.Node) {
	name := c.Name
	if c.Parent != nil && c.Parent.Type == kong.CommandNode {
		name = c.Parent.Name + " " + name
	}
	line(".SS %s", escape(strings.Join(append([]string{name}, c.Aliases...), ", ")))
	if c.Passthrough { // a program with a page of its own
		line("%s\nIts flags are those of that command, which has a page of its own.", text(c.Help))
		return
	}
	line("%s", text(c.Help))
	if c.Detail != "" {
		line(".PP\n%s", text(c.Detail))
	}
	for _, arg := range c.Positional {
		line(".TP\n.I \"%s\"\n%s", escape(arg.Summary()), text(arg.Help))
	}
	options(line, c.Flags)
	for _, within := range c.Children {
		command(line, within)
	}
}

// options writes flags in their groups.
func options(line func(string, ...any), flags []*kong.Flag) {
	for _, group := range groups(flags) {
		if group.title != "" {
			line(".SS %s", escape(group.title))
		}
		for _, f := range group.flags {
			line(".TP\n%s\n%s", option(f), text(f.Help))
			if len(f.Envs) > 0 {
				line("Read from %s if it is not given.", escape(strings.Join(f.Envs, " or ")))
			}
		}
	}
}

// needed returns lines with the flags that must be given. Of some it is one of several.
func needed(flags []*kong.Flag) (lines []string) {
	oneOf := make(map[string]int) // name of the choice → index of its line
	for _, f := range flags {
		switch {
		case !f.Required:
		case len(f.Xor) == 0:
			lines = append(lines, option(f))
		default:
			at, known := oneOf[f.Xor[0]]
			if !known {
				oneOf[f.Xor[0]] = len(lines)
				lines = append(lines, option(f))
				continue
			}
			lines[at] += "\n|\n" + option(f)
		}
	}
	return lines
}

// group is what the help shows under one title.
type group struct {
	title string
	flags []*kong.Flag
}

// groups returns the flags without title first, and the others in the order in which
// their titles come.
func groups(flags []*kong.Flag) []group {
	all := []group{{}}
	at := map[string]int{"": 0}
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		title := ""
		if f.Group != nil {
			title = f.Group.Title
		}
		if _, known := at[title]; !known {
			at[title] = len(all)
			all = append(all, group{title: title})
		}
		all[at[title]].flags = append(all[at[title]].flags, f)
	}
	return all
}

// option returns a line with a flag as it is given: itself in bold, its value in italics.
func option(f *kong.Flag) string {
	name := "--" + f.Name
	if f.Short != 0 {
		name = fmt.Sprintf("-%c, %s", f.Short, name)
	}
	if f.IsBool() || f.IsCounter() {
		return fmt.Sprintf(`.B "%s"`, escape(name))
	}
	return fmt.Sprintf(`.BI "%s " "%s"`, escape(name), escape(f.FormatPlaceHolder()))
}

// text returns lines of text: sentences begin lines, as man(7) recommends.
func text(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	lines := strings.Split(strings.ReplaceAll(s, ". ", ".\n"), "\n")
	for i, l := range lines {
		lines[i] = escape(l)
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") { // would be a request
			lines[i] = `\&` + lines[i]
		}
	}
	return strings.Join(lines, "\n")
}

// escape makes text safe for roff. A hyphen becomes a minus, since what has hyphens here
// are mostly flags and values, which a reader copies.
var escape = strings.NewReplacer(`\`, `\e`, `-`, `\-`, `"`, `\(dq`).Replace

func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
