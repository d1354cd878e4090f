// SPDX-License-Identifier: Apache-2.0

package acl

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"tagbus/acl"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/table"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/identity"
	"tagbus/internal/filewatch"
	"tagbus/internal/sanitize"
	"tagbus/tags"
)

// Test is the command line of test.
type Test struct {
	tool.NoBus

	File   string `arg:"" help:"File of expectations, a line each: allow or deny, the name of a peer, an action, tags. A name with blanks stands in quotes; # begins a comment. For example: deny anonymous subscribe 0x1000-0x1fff"`
	Policy string `required:"" placeholder:"FILE" help:"File of the policy."`
	Failed bool   `help:"Only the expectations that are not met."`
}

// Run compares.
func (c *Test) Run(_ context.Context, e *tool.Env) error {
	policy, err := acl.ReadFile(c.Policy)
	if err != nil {
		return err
	}
	all, err := readExpectations(c.File)
	if err != nil {
		return err
	}
	t := table.New(e.Out, e.JSON, table.Text("RESULT").Key(), table.Number("LINE").Key(), table.Text("EXPECTED"), table.Text("WHY"))
	failed := 0
	for _, x := range all {
		met, why := x.compare(policy)
		result := "met"
		if !met {
			failed++
			result = "FAILED"
		} else if c.Failed {
			continue
		}
		said := struct {
			Met      bool      `json:"met"`
			Line     int       `json:"line"`
			Expected string    `json:"expected"`
			Why      explained `json:"why"`
		}{met, x.line, x.String(), explain(why)}
		if err := t.Row(said, result, strconv.Itoa(x.line), x.String(), why.String()); err != nil {
			return err
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(e.Err, "%s: %s, %d not met\n", sanitize.Text(c.File), units.FormatNumber(len(all), "expectation"), failed)
	if failed > 0 {
		return &tool.StatusError{Code: cli.ExitFailed}
	}
	return nil
}

// expectation is what the owner of a policy expects of it.
type expectation struct {
	line   int
	allow  bool // all tags; else none of them
	who    identity.Principal
	action acl.Action
	tags   tags.Set
}

// String returns the expectation as it stands in a file.
func (x *expectation) String() string {
	word := "deny"
	if x.allow {
		word = "allow"
	}
	text, all := x.tags.Short(100)
	if !all {
		text += ", …"
	}
	return fmt.Sprintf("%s %s %v %s", word, x.who, x.action, text)
}

// compare reports whether a policy is as expected, and explains it with the first tag that decides
// it.
func (x *expectation) compare(p *acl.Policy) (met bool, why acl.Explanation) {
	may, mayNot := p.Split(x.who, x.action, x.tags)
	wrong := may
	if x.allow {
		wrong = mayNot
	}
	met = wrong.IsEmpty()
	if met {
		wrong = x.tags
	}
	for tag := range wrong.All() {
		return met, p.Explain(x.who, x.action, tag)
	}
	return met, acl.Explanation{Who: x.who, Action: x.action}
}

// maxExpectationBytes limits a file of expectations, as a policy is limited.
const maxExpectationBytes = 16 << 20

// readExpectations reads a file, which may be a device without end.
func readExpectations(file string) (all []expectation, err error) {
	f, err := filewatch.Read(file, maxExpectationBytes)
	if large := (*filewatch.SizeError)(nil); errors.As(err, &large) {
		return nil, fmt.Errorf("%s: more than %d bytes: this is another file", sanitize.Text(file), maxExpectationBytes)
	} else if err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(f.Data, []byte("\ufeff"))))
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		x, err := parseExpectation(text)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", sanitize.Text(file), n, err)
		}
		x.line = n
		all = append(all, x)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", sanitize.Text(file), err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no expectations: want lines such as: deny anonymous subscribe *", sanitize.Text(file))
	}
	return all, nil
}

// parseExpectation reads a line.
func parseExpectation(text string) (x expectation, err error) {
	word, text := cutWord(text)
	if word != "allow" && word != "deny" {
		return x, fmt.Errorf("got %s, want allow or deny", sanitize.Text(sanitize.Cut(word, 40)))
	}
	x.allow = word == "allow"
	name := ""
	if strings.HasPrefix(text, `"`) {
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return x, errors.New("the name of the peer has no closing quote")
		}
		name, err = strconv.Unquote(quoted)
		if err != nil {
			return x, err
		}
		text = strings.TrimSpace(text[len(quoted):])
	} else {
		name, text = cutWord(text)
	}
	if x.who, err = identity.NewPrincipal(name); err != nil {
		return x, err
	}
	word, text = cutWord(text)
	if x.action, err = acl.ParseAction(word); err != nil {
		return x, err
	}
	if x.tags, err = tags.ParseSet(text); err != nil {
		return x, err
	}
	if x.tags.IsEmpty() {
		return x, errors.New("no tags: want some, or *")
	}
	return x, nil
}

// cutWord cuts the first word off.
func cutWord(text string) (word, rest string) {
	if i := strings.IndexAny(text, " \t"); i >= 0 {
		return text[:i], strings.TrimSpace(text[i:])
	}
	return text, ""
}
