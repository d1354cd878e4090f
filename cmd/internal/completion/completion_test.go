// SPDX-License-Identifier: Apache-2.0

package completion_test

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"tagbus/cmd/internal/completion"
)

// flags has a flag of each kind.
type flags struct {
	Bus    string `placeholder:"DIR" help:"Directory: where to look. Made if it is missing."`
	Input  string `placeholder:"FILE|-" help:"Read a user's [file] in place, for example a.b"`
	Policy string `placeholder:"POLICY" help:"What to do: block, latest, or sample:N."`
	Rate   string `placeholder:"N" help:"Messages per second; with --send: of all."`
	Quiet  bool   `short:"q" help:"Say nothing."`
	Secret bool   `hidden:"" help:"Not shown."`
}

const wantBash = `# Completion of the command tool for bash, made from its flags.
_tool() {
    local word=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD - 1]}
    if [[ $word == = ]]; then
        word=
    elif [[ $flag == = ]]; then
        flag=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()
    case $flag in
    --bus) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    --input) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    --policy) mapfile -t COMPREPLY < <(compgen -W 'block latest sample:' -- "$word") ;;
    :) ;; # within a value
    --rate) ;;
    *) mapfile -t COMPREPLY < <(compgen -W '--bus --help --input --policy --quiet --rate' -- "$word") ;;
    esac
    # The value goes on after a colon.
    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *: ]] || compopt -o nospace
}
complete -F _tool tool
`

const wantZsh = `#compdef tool
# Completion of the command tool for zsh, made from its flags.
_arguments -s \
    '--bus=[Directory\: where to look]:DIR:_files -/' \
    '(-h --help)'{-h,--help}'[Show context-sensitive help]' \
    '--input=[Read a user'\''s \[file\] in place]:FILE|-:_files' \
    '--policy=[What to do\: block, latest, or sample\:N]:POLICY:(block latest sample\:)' \
    '(-q --quiet)'{-q,--quiet}'[Say nothing]' \
    '--rate=[Messages per second]:N: '
`

const wantFish = `# Completion of the command tool for fish, made from its flags.
complete -c tool -f
complete -c tool -l bus -x -a '(__fish_complete_directories)' -d 'Directory: where to look'
complete -c tool -l help -s h -d 'Show context-sensitive help'
complete -c tool -l input -r -F -d 'Read a user\'s [file] in place'
complete -c tool -l policy -x -a 'block latest sample:' -d 'What to do: block, latest, or sample:N'
complete -c tool -l quiet -s q -d 'Say nothing'
complete -c tool -l rate -x -d 'Messages per second'
`

func TestScriptsHaveWhatTheFlagsSay(t *testing.T) {
	parser, err := kong.New(new(flags), kong.Name("tool"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]struct{ file, text string }{
		"bash": {"tool", wantBash}, "zsh": {"_tool", wantZsh}, "fish": {"tool.fish", wantFish},
	}
	for _, shell := range completion.Shells {
		t.Run(shell.Name, func(t *testing.T) {
			var b strings.Builder
			if err := shell.Write(&b, parser.Model); err != nil {
				t.Fatal(err)
			}
			if got := shell.File("tool"); got != want[shell.Name].file {
				t.Errorf("file: got %q, want %q", got, want[shell.Name].file)
			}
			if diff := cmp.Diff(want[shell.Name].text, b.String()); diff != "" {
				t.Errorf("want (-) and got (+) differ:\n%s", diff)
			}
		})
	}
}
