// SPDX-License-Identifier: Apache-2.0

package checks_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// phrase is a way to put things that makes a text slow to read. A sentence that
// matches bad is a mistake, unless it matches fine too.
type phrase struct {
	bad    *regexp.Regexp
	fine   *regexp.Regexp
	better string // what to write instead
	why    string
}

// orders are what "x has y do" says that y does, here.
const orders = `(say|tell|send|take|get|refuse|wait|ring|fail|use|do|end|load|keep|share|moved|reported|interrupted)`

// phrases are what comments and documents do without. Each was frequent here.
var phrases = []phrase{
	{
		regexp.MustCompile(`\b(tell|say)s? whether\b`), nil, `"reports whether"`,
		"a reader of Go knows it as the mark of a function that returns a bool",
	},
	{
		regexp.MustCompile(`\bbut for\b`), regexp.MustCompile(`\bnot (only |just )?for\b.* but for\b`), `"except"`,
		`it reads like the second half of "not for a but for b"`,
	},
	{
		regexp.MustCompile(`(?i)\b(somebody|someone|nobody|whoever)\b`), nil, `the thing: "no subscriber", "another goroutine", "a caller that"`,
		"in a program it is a goroutine, a process or a caller, and the reader has to find out which",
	},
	{
		regexp.MustCompile(`(^Who|; who|^Test\w+: who|\b(for|by|than) who) `), regexp.MustCompile(`\?$`), `the thing: "A publisher that"`,
		"a sentence begins with what it is about",
	},
	{
		regexp.MustCompile(`\b(comes|came) to that\b`), nil, `when it is: "once the connection is ready"`,
		"it names no moment",
	},
	{
		regexp.MustCompile(`^\S+ has (\S+ ){1,6}?(called|run|read|told)\b`),
		regexp.MustCompile(`has (.* )?(no|not|just|already|been|that|which|to|and)\b.* (called|run|read|told)\b|(called|run|read|told) ([A-Z"x]|by|so far)`),
		`the verb: "calls", "schedules"`,
		"it reads like a past tense until the sentence is over",
	},
	{
		regexp.MustCompile(`^\S+ has (\S+ ){1,9}?` + orders + `\b`),
		regexp.MustCompile(`has (.* )?(no|not|just|already|been|that|which|to|and|may|must|can|does|than)\b.* ` + orders +
			`\b|(the|an?|each|at|whose|of|its|in|then|some|have|until) (end|use|load|share|wait)\b|has (so )?(moved|reported)\b|send buffers?\b`),
		`the verb: "makes it wait", "lets it end", "moves"`,
		"it reads like a possession until the sentence is over",
	},
	{
		regexp.MustCompile(`\b(ceases?|ceased|ceasing) to\b`), nil, `"stops sending", "no longer serves"`,
		"it is a word of laws",
	},
	{
		regexp.MustCompile(`\b(takes?|took|taken) (the|this|that) news\b`), nil, `what happens: "learns", "handles the event"`,
		"it names no action",
	},
	{
		regexp.MustCompile(`\banew\b`), nil, `"again"`,
		"it is a word of novels",
	},
	{
		regexp.MustCompile(`\bin vain\b`), regexp.MustCompile(`dial it without success$`), `"without success"`,
		"it is a word of novels",
	},
	{
		regexp.MustCompile(`^Package \w+ [^.]*\?`), nil, `what the package does: "Package backoff decides"`,
		"a list of packages shows the sentence alone",
	},
}

// notClean are the folders, each without those below it, whose text is still to
// be rewritten. One that is clean must go from the list: it stays clean then.
var notClean = []string{}

// history is what was written once and is not rewritten.
var history = []string{"CHANGELOG.md", "docs/adr"}

// TestProse holds the comments of all Go files and all documents to phrases.
func TestProse(t *testing.T) {
	inRoot(t)
	mistakes, err := checkProse(os.DirFS("."), notClean, history)
	if err != nil {
		t.Fatal(err)
	}
	for _, mistake := range mistakes {
		t.Error(mistake)
	}
}

// checkProse returns what is wrong in the Go files and documents of a module, and
// in the list of the folders that it leaves out.
func checkProse(module fs.FS, dirty, skip []string) (mistakes []string, err error) {
	found := make(map[string]int) // by folder
	err = fs.WalkDir(module, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case slices.Contains(skip, name), slices.Contains(notOurs, name), entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(name, ".") && name != "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		blocks, err := readProse(module, name)
		if err != nil {
			return err
		}
		for _, b := range blocks {
			for _, mistake := range b.check() {
				found[path.Dir(name)]++
				if !slices.Contains(dirty, path.Dir(name)) {
					mistakes = append(mistakes, name+":"+mistake)
				}
			}
		}
		return nil
	})
	for _, dir := range dirty {
		if found[dir] == 0 {
			mistakes = append(mistakes, dir+" is clean: remove it from notClean in prose_test.go")
		}
	}
	return mistakes, err
}

// block is a text without a break, such as a paragraph or a cell of a table.
type block struct {
	words []string
	lines []int // of each word
}

func (b *block) add(line int, text string) {
	for _, w := range strings.Fields(text) {
		b.words, b.lines = append(b.words, w), append(b.lines, line)
	}
}

// check returns the mistakes of each sentence, in the line where each begins.
func (b *block) check() (mistakes []string) {
	for begin := 0; begin < len(b.words); {
		end := begin + 1
		for end < len(b.words) && !strings.ContainsAny(last(b.words[end-1]), ".?!") {
			end++
		}
		sentence := strings.Join(b.words[begin:end], " ")
		for _, p := range phrases {
			at := p.bad.FindStringIndex(sentence)
			if at == nil || p.fine != nil && p.fine.MatchString(sentence) {
				continue
			}
			line := b.lines[begin+strings.Count(strings.TrimRight(sentence[:at[1]], " "), " ")]
			mistakes = append(mistakes, fmt.Sprintf("%d: %q: write %s: %s",
				line, strings.TrimSpace(sentence[at[0]:at[1]]), p.better, p.why))
		}
		begin = end
	}
	return mistakes
}

// last returns the last byte of a word, closing quotes and parentheses left out.
func last(word string) string {
	word = strings.TrimRight(word, `"')*_`)
	return word[max(len(word)-1, 0):]
}

// readProse returns the text of a Go file's comments, or of a document.
func readProse(module fs.FS, name string) ([]block, error) {
	isGo := path.Ext(name) == ".go"
	if !isGo && path.Ext(name) != ".md" {
		return nil, nil
	}
	text, err := fs.ReadFile(module, name)
	if err != nil {
		return nil, err
	}
	if !isGo {
		return documentProse(string(text)), nil
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var blocks []block
	for _, group := range file.Comments {
		var lines []string
		first := files.Position(group.Pos()).Line
		for _, c := range group.List {
			c.Text = strings.TrimSuffix(strings.TrimPrefix(c.Text, "/*"), "*/")
			for line := range strings.Lines(c.Text) {
				lines = append(lines, strings.TrimPrefix(strings.TrimSpace(line), "//"))
			}
		}
		blocks = append(blocks, prose(first, lines, "\t")...)
	}
	return blocks, nil
}

// fence begins and ends code in a document.
var fence = regexp.MustCompile("^ *```")

// documentProse returns the text of a document in Markdown, headings included.
func documentProse(text string) []block {
	lines := strings.Split(text, "\n")
	inside := false
	for i, line := range lines {
		if mark := fence.MatchString(line); mark || inside {
			inside = inside != mark
			lines[i] = ""
		}
	}
	return prose(1, lines, "    ")
}

// quoted is a text that is named, not said: code, or another one's words.
var quoted = regexp.MustCompile("`[^`]*`|\"[^\"]{1,80}\"")

// item begins a block of its own: a point of a list, a heading, a row of a table.
var item = regexp.MustCompile(`^\s*([-*] |\d+\. |#+ |\|)`)

// prose cuts lines, of which the first has a number, into blocks. Lines behind an
// empty one that begin with indent are code.
func prose(first int, lines []string, indent string) (blocks []block) {
	b := block{}
	next := func() {
		if len(b.words) > 0 {
			blocks = append(blocks, b)
		}
		b = block{}
	}
	empty := true
	isCode := false
	for i, line := range lines {
		indented := strings.HasPrefix(line, indent) && !item.MatchString(line)
		isCode = indented && (empty || isCode)
		empty = strings.TrimSpace(line) == ""
		if empty || isCode {
			next()
			continue
		}
		line = quoted.ReplaceAllString(line, "x")
		if item.MatchString(line) {
			next()
			line = item.ReplaceAllString(line, "")
		}
		for j, cell := range strings.Split(line, "|") {
			if j > 0 {
				next()
			}
			b.add(first+i, cell)
		}
	}
	next()
	return blocks
}
