// SPDX-License-Identifier: Apache-2.0

package completion_test

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"tagbus/cmd/internal/completion"
	"tagbus/internal/testkit"
)

// flags has a flag of each kind.
type flags struct {
	Bus    string `placeholder:"DIR|URL" help:"Directory: where to look. Made if it is missing."`
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
    '--bus=[Directory\: where to look]:DIR|URL:_files -/' \
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
	testkit.Must(t, err)
	want := map[string]struct{ file, text string }{
		"bash": {"tool", wantBash}, "zsh": {"_tool", wantZsh}, "fish": {"tool.fish", wantFish},
	}
	for _, shell := range completion.Shells {
		t.Run(shell.Name, func(t *testing.T) {
			var b strings.Builder
			testkit.Must(t, shell.Write(&b, parser.Model))
			if got := shell.File("tool"); got != want[shell.Name].file {
				t.Errorf("file: got %q, want %q", got, want[shell.Name].file)
			}
			if diff := cmp.Diff(want[shell.Name].text, b.String()); diff != "" {
				t.Errorf("want (-) and got (+) differ:\n%s", diff)
			}
		})
	}
}

// tool is a program with commands.
type tool struct {
	Bus string `placeholder:"DIR" help:"Directory."`

	List struct {
		Watch string `placeholder:"[TIME]" help:"Again."`
		Sort  string `placeholder:"KEY" help:"By name or rate."`
	} `cmd:"" name:"ls" aliases:"dir" help:"List: who's there."`
	Shell struct {
		Name string `arg:"" enum:"bash,zsh"`
	} `cmd:"" help:"Complete."`
	Other struct {
		Args []string `arg:"" optional:""`
	} `cmd:"" passthrough:"" help:"Another program."`
	Secret struct{} `cmd:"" hidden:""`
}

const wantBashOfCommands = `# Completion of the command tool for bash, made from its flags.
_tool() {
    local word=${COMP_WORDS[COMP_CWORD]} flag=${COMP_WORDS[COMP_CWORD - 1]}
    if [[ $word == = ]]; then
        word=
    elif [[ $flag == = ]]; then
        flag=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    COMPREPLY=()
    local command='' i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        --bus) if [[ ${COMP_WORDS[i + 1]} == = ]]; then ((i += 2)); else ((i += 1)); fi ;; # its value
        ls | dir | shell | other) command=${COMP_WORDS[i]}; break ;;
        esac
    done
    case $command in
    '')
        case $flag in
        --bus) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
        :) ;; # within a value
        *) mapfile -t COMPREPLY < <(compgen -W 'ls shell other --bus --help' -- "$word") ;;
        esac
        ;;
    ls | dir)
        case $flag in
        --bus) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
        --sort) mapfile -t COMPREPLY < <(compgen -W 'name rate' -- "$word") ;;
        :) ;; # within a value
        *) mapfile -t COMPREPLY < <(compgen -W '--bus --help --sort --watch' -- "$word") ;;
        esac
        ;;
    shell)
        case $flag in
        --bus) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
        :) ;; # within a value
        *) mapfile -t COMPREPLY < <(compgen -W 'bash zsh --bus --help' -- "$word") ;;
        esac
        ;;
    other)
        case $flag in
        --input) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
        :) ;; # within a value
        *) mapfile -t COMPREPLY < <(compgen -W '--help --input' -- "$word") ;;
        esac
        ;;
    esac
    # The value goes on after a colon.
    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *: ]] || compopt -o nospace
}
complete -F _tool tool
`

const wantZshOfCommands = `#compdef tool
# Completion of the command tool for zsh, made from its flags.
local context state state_descr line
typeset -A opt_args
_arguments -s -C \
    '--bus=[Directory]:DIR:_files -/' \
    '(-h --help)'{-h,--help}'[Show context-sensitive help]' \
    '1:command:((ls\:"List\: who'\''s there" shell\:"Complete" other\:"Another program"))' \
    '*::argument:->rest'
[[ $state == rest ]] || return
case $words[1] in
ls|dir)
    _arguments -s \
        '--bus=[Directory]:DIR:_files -/' \
        '(-h --help)'{-h,--help}'[Show context-sensitive help]' \
        '--sort=[By name or rate]:KEY:(name rate)' \
        '--watch[Again]'
    ;;
shell)
    _arguments -s \
        '--bus=[Directory]:DIR:_files -/' \
        '(-h --help)'{-h,--help}'[Show context-sensitive help]' \
        '1:argument:(bash zsh)'
    ;;
other)
    _arguments -s \
        '(-h --help)'{-h,--help}'[Show context-sensitive help]' \
        '--input=[Read it]:FILE:_files'
    ;;
esac
`

const wantFishOfCommands = `# Completion of the command tool for fish, made from its flags.
complete -c tool -f
complete -c tool -n __fish_use_subcommand -l bus -x -a '(__fish_complete_directories)' -d 'Directory'
complete -c tool -n __fish_use_subcommand -l help -s h -d 'Show context-sensitive help'
complete -c tool -n __fish_use_subcommand -a ls -d 'List: who\'s there'
complete -c tool -n '__fish_seen_subcommand_from ls dir' -l bus -x -a '(__fish_complete_directories)' -d 'Directory'
complete -c tool -n '__fish_seen_subcommand_from ls dir' -l help -s h -d 'Show context-sensitive help'
complete -c tool -n '__fish_seen_subcommand_from ls dir' -l sort -x -a 'name rate' -d 'By name or rate'
complete -c tool -n '__fish_seen_subcommand_from ls dir' -l watch -d 'Again'
complete -c tool -n __fish_use_subcommand -a shell -d 'Complete'
complete -c tool -n '__fish_seen_subcommand_from shell' -a bash
complete -c tool -n '__fish_seen_subcommand_from shell' -a zsh
complete -c tool -n '__fish_seen_subcommand_from shell' -l bus -x -a '(__fish_complete_directories)' -d 'Directory'
complete -c tool -n '__fish_seen_subcommand_from shell' -l help -s h -d 'Show context-sensitive help'
complete -c tool -n __fish_use_subcommand -a other -d 'Another program'
complete -c tool -n '__fish_seen_subcommand_from other' -l help -s h -d 'Show context-sensitive help'
complete -c tool -n '__fish_seen_subcommand_from other' -l input -r -F -d 'Read it'
`

func TestScriptsOfAProgramWithCommands(t *testing.T) {
	parser, err := kong.New(new(tool), kong.Name("tool"))
	testkit.Must(t, err)
	other, err := kong.New(new(struct {
		Input string `placeholder:"FILE" help:"Read it."`
	}), kong.Name("other"))
	testkit.Must(t, err)
	parser.Model.Children[2].Flags = other.Model.Flags // as tagbus has those of publisher
	want := map[string]string{"bash": wantBashOfCommands, "zsh": wantZshOfCommands, "fish": wantFishOfCommands}
	for _, shell := range completion.Shells {
		var b strings.Builder
		testkit.Must(t, shell.Write(&b, parser.Model))
		if diff := cmp.Diff(want[shell.Name], b.String()); diff != "" {
			t.Errorf("%s: want (-) and got (+) differ:\n%s", shell.Name, diff)
		}
	}
}
