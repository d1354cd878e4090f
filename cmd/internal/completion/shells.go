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
func bash(command string, all []flag) string {
	var b strings.Builder
	fmt.Fprintf(&b, head, command, "bash")
	fmt.Fprintf(&b, `_%s() {
    local word=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD - 1]}
    if [[ $word == = ]]; then
        word=
    elif [[ $flag == = ]]; then
        flag=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()
    case $flag in
`, command)
	var names, free []string
	for _, f := range all {
		name := "--" + f.name
		names = append(names, name)
		switch f.takes {
		case nothing:
		case text:
			free = append(free, name)
		case word:
			fmt.Fprintf(&b, "    %s) mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$word\") ;;\n", name, strings.Join(f.words, " "))
		case directory:
			fmt.Fprintf(&b, "    %s) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$word\") ;;\n", name)
		case file:
			fmt.Fprintf(&b, "    %s) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$word\") ;;\n", name)
		}
	}
	fmt.Fprintf(&b, `    :) ;; # within a value
    %s) ;;
    *) mapfile -t COMPREPLY < <(compgen -W '%s' -- "$word") ;;
    esac
    # The value goes on after a colon.
    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *: ]] || compopt -o nospace
}
complete -F _%s %s
`, strings.Join(free, " | "), strings.Join(names, " "), command, command)
	return b.String()
}

// zsh returns the body of a function of the same name as its file.
func zsh(command string, all []flag) string {
	var b strings.Builder
	fmt.Fprintf(&b, "#compdef %s\n"+head+"_arguments -s \\\n", command, command, "zsh")
	quote := strings.NewReplacer(`'`, `'\''`, `[`, `\[`, `]`, `\]`, `:`, `\:`).Replace
	for i, f := range all {
		value := ""
		switch f.takes {
		case nothing:
		case text:
			value = ":" + quote(f.value) + ": "
		case word:
			value = ":" + quote(f.value) + ":(" + quote(strings.Join(f.words, " ")) + ")"
		case directory:
			value = ":" + quote(f.value) + ":_files -/"
		case file:
			value = ":" + quote(f.value) + ":_files"
		}
		name := "--" + f.name
		if value != "" {
			name += "="
		}
		help := "[" + quote(f.help) + "]"
		if f.short == "" {
			fmt.Fprintf(&b, "    '%s%s%s'", name, help, value)
		} else {
			fmt.Fprintf(&b, "    '(-%s --%s)'{-%s,%s}'%s%s'", f.short, f.name, f.short, name, help, value)
		}
		if i < len(all)-1 {
			b.WriteString(" \\")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// fish returns a line for each flag.
func fish(command string, all []flag) string {
	var b strings.Builder
	fmt.Fprintf(&b, head+"complete -c %s -f\n", command, "fish", command)
	quote := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace
	for _, f := range all {
		fmt.Fprintf(&b, "complete -c %s -l %s", command, f.name)
		if f.short != "" {
			fmt.Fprintf(&b, " -s %s", f.short)
		}
		switch f.takes {
		case nothing:
		case text:
			b.WriteString(" -x")
		case word:
			fmt.Fprintf(&b, " -x -a '%s'", strings.Join(f.words, " "))
		case directory:
			b.WriteString(" -x -a '(__fish_complete_directories)'")
		case file:
			b.WriteString(" -r -F")
		}
		fmt.Fprintf(&b, " -d '%s'\n", quote(f.help))
	}
	return b.String()
}
