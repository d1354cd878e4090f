// SPDX-License-Identifier: Apache-2.0

package completion

import (
	"fmt"
	"strings"
)

// zshQuote makes a text part of a specification in single quotes.
var zshQuote = strings.NewReplacer(`'`, `'\''`, `[`, `\[`, `]`, `\]`, `:`, `\:`).Replace

// zsh returns the body of a function of the same name as its file.
func zsh(p program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n"+head, p.name, p.name, "zsh")
	if len(p.commands) == 0 {
		zshArguments(&b, "", "_arguments -s", p.flags, nil)
		return b.String()
	}
	var described []string
	for _, c := range p.commands {
		described = append(described, fmt.Sprintf(`%s\:"%s"`, c.name, strings.NewReplacer(`'`, `'\''`, `"`, ``, `:`, `\:`).Replace(c.help)))
	}
	b.WriteString("local context state state_descr line\ntypeset -A opt_args\n")
	zshArguments(&b, "", "_arguments -s -C", p.flags, []string{
		"'1:command:((" + strings.Join(described, " ") + "))'", "'*::argument:->rest'",
	})
	b.WriteString("[[ $state == rest ]] || return\ncase $words[1] in\n")
	for _, c := range p.commands {
		fmt.Fprintf(&b, "%s)\n", strings.Join(c.names(), "|"))
		var words []string
		if len(c.words) > 0 {
			words = []string{"'1:argument:(" + strings.Join(c.words, " ") + ")'"}
		}
		zshArguments(&b, "    ", "_arguments -s", c.flags, words)
		b.WriteString("    ;;\n")
	}
	b.WriteString("esac\n")
	return b.String()
}

// zshArguments writes a call with a specification for each flag, and others behind them.
func zshArguments(b *strings.Builder, indent, call string, all []flag, more []string) {
	specs := []string{call}
	for _, f := range all {
		specs = append(specs, zshFlag(f))
	}
	b.WriteString(indent + strings.Join(append(specs, more...), " \\\n"+indent+"    ") + "\n")
}

// zshFlag returns the specification of a flag.
func zshFlag(f flag) string {
	value := ""
	switch f.takes {
	case nothing:
	case text:
		value = ":" + zshQuote(f.value) + ": "
	case word:
		value = ":" + zshQuote(f.value) + ":(" + zshQuote(strings.Join(f.words, " ")) + ")"
	case directory:
		value = ":" + zshQuote(f.value) + ":_files -/"
	case file:
		value = ":" + zshQuote(f.value) + ":_files"
	}
	name := "--" + f.name
	if value != "" {
		name += "="
	}
	help := "[" + zshQuote(f.help) + "]"
	if f.short == "" {
		return fmt.Sprintf("'%s%s%s'", name, help, value)
	}
	return fmt.Sprintf("'(-%s --%s)'{-%s,%s}'%s%s'", f.short, f.name, f.short, name, help, value)
}

// fishQuote makes a text part of a word in single quotes.
var fishQuote = strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace

// fish returns a line for each flag, and for each command.
func fish(p program) string {
	var b strings.Builder
	fmt.Fprintf(&b, head+"complete -c %s -f\n", p.name, "fish", p.name)
	if len(p.commands) == 0 {
		fishFlags(&b, p.name, "", p.flags)
		return b.String()
	}
	fishFlags(&b, p.name, " -n __fish_use_subcommand", p.flags)
	for _, c := range p.commands {
		fmt.Fprintf(&b, "complete -c %s -n __fish_use_subcommand -a %s -d '%s'\n", p.name, c.name, fishQuote(c.help))
		when := " -n '__fish_seen_subcommand_from " + strings.Join(c.names(), " ") + "'"
		for _, word := range c.words {
			fmt.Fprintf(&b, "complete -c %s%s -a %s\n", p.name, when, word)
		}
		fishFlags(&b, p.name, when, c.flags)
	}
	return b.String()
}

// fishFlags writes a line for each flag.
//
//   - when: a condition, or "".
func fishFlags(b *strings.Builder, program, when string, all []flag) {
	for _, f := range all {
		fmt.Fprintf(b, "complete -c %s%s -l %s", program, when, f.name)
		if f.short != "" {
			fmt.Fprintf(b, " -s %s", f.short)
		}
		switch f.takes {
		case nothing:
		case text:
			b.WriteString(" -x")
		case word:
			fmt.Fprintf(b, " -x -a '%s'", strings.Join(f.words, " "))
		case directory:
			b.WriteString(" -x -a '(__fish_complete_directories)'")
		case file:
			b.WriteString(" -r -F")
		}
		fmt.Fprintf(b, " -d '%s'\n", fishQuote(f.help))
	}
}
