// SPDX-License-Identifier: Apache-2.0

package completion

import (
	"fmt"
	"strings"
)

// head is the second line of a script.
const head = "# Completion of the command %s for %s, made from its flags.\n"

// bash returns a function and its registration. The word at the cursor and the one
// before it are not taken from the parameters, because bash cuts --flag=value into three.
func bash(p program) string {
	var b strings.Builder
	fmt.Fprintf(&b, head, p.name, "bash")
	fmt.Fprintf(&b, `_%s() {
    local word=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD - 1]}
    if [[ $word == = ]]; then
        word=
    elif [[ $flag == = ]]; then
        flag=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()
`, p.name)
	if len(p.commands) == 0 {
		bashCase(&b, "    ", p.flags, nil)
	} else {
		bashCommands(&b, p)
	}
	fmt.Fprintf(&b, `    # The value goes on after a colon.
    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *: ]] || compopt -o nospace
}
complete -F _%s %s
`, p.name, p.name)
	return b.String()
}

// bashCommands writes the part that finds the command, and completes its words.
func bashCommands(b *strings.Builder, p program) {
	var names, all, taking []string
	for _, c := range p.commands {
		names = append(names, c.name)
		all = append(all, c.names()...)
	}
	for _, f := range p.flags {
		if f.takes != nothing {
			taking = append(taking, "--"+f.name)
		}
	}
	fmt.Fprintf(b, `    local command='' i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        %s) if [[ ${COMP_WORDS[i + 1]} == = ]]; then ((i += 2)); else ((i += 1)); fi ;; # its value
        %s) command=${COMP_WORDS[i]}; break ;;
        esac
    done
    case $command in
    '')
`, strings.Join(taking, " | "), strings.Join(all, " | "))
	bashCase(b, "        ", p.flags, names)
	b.WriteString("        ;;\n")
	for _, c := range p.commands {
		fmt.Fprintf(b, "    %s)\n", strings.Join(c.names(), " | "))
		bashCase(b, "        ", c.flags, c.words)
		b.WriteString("        ;;\n")
	}
	b.WriteString("    esac\n")
}

// bashCase writes what completes the value of a flag, or else the name of one.
//
//   - words: what may stand where a flag may.
func bashCase(b *strings.Builder, indent string, all []flag, words []string) {
	line := func(format string, args ...any) { fmt.Fprintf(b, indent+format+"\n", args...) }
	line("case $flag in")
	var free []string
	for _, f := range all {
		name := "--" + f.name
		switch f.takes {
		case nothing:
		case text:
			free = append(free, name)
		case word:
			line("%s) mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$word\") ;;", name, strings.Join(f.words, " "))
		case directory:
			line("%s) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$word\") ;;", name)
		case file:
			line("%s) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;", name)
		}
	}
	line(":) ;; # within a value")
	if len(free) > 0 {
		line("%s) ;;", strings.Join(free, " | "))
	}
	line("*) mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$word\") ;;", strings.Join(wordsOf(words, all), " "))
	line("esac")
}
