// SPDX-License-Identifier: Apache-2.0

package acl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"tagbus/tags"
)

// Parse reads a policy. file is its name for errors, and may be empty.
//
//   - Errors: *PolicyError.
func Parse(file string, data []byte) (*Policy, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // the mark of some editors
	p := &parser{file: file, data: data, json: json.NewDecoder(bytes.NewReader(data)), policy: new(Policy)}
	p.json.UseNumber()
	if err := p.parse(); err != nil {
		return nil, err
	}
	p.policy.prepare()
	return p.policy, nil
}

// parser reads a policy token by token: encoding/json alone knows no places, and takes fields
// twice, in either case.
type parser struct {
	file   string
	data   []byte
	json   *json.Decoder
	policy *Policy

	rule  int // in which the parser is, from 1
	parts int // of the tags so far
}

func (p *parser) parse() error {
	switch {
	case len(p.data) > MaxBytes:
		return p.fail("", "", fmt.Errorf("%w: %d bytes, at most %d may be", ErrTooLarge, len(p.data), MaxBytes))
	case !utf8.Valid(p.data):
		return p.fail("", "", fmt.Errorf("%w: its text is not UTF-8", ErrSyntax))
	}
	if err := p.delim('{', "{, with which a policy begins"); err != nil {
		return err
	}
	seen := false
	for p.json.More() {
		field, err := p.text("the name of a field")
		switch {
		case err != nil:
			return err
		case field != "rules":
			return p.fail(field, "", fmt.Errorf("%w: a policy has only rules", ErrUnknownField))
		case seen:
			return p.fail(field, "", ErrDuplicateField)
		}
		seen = true
		if err := p.rules(); err != nil {
			return err
		}
	}
	if err := p.delim('}', "}, with which a policy ends"); err != nil {
		return err
	}
	if !seen {
		return p.fail("", "", fmt.Errorf(`%w: want "rules": [...], which may be empty`, ErrMissingField))
	}
	if token, err := p.json.Token(); !errors.Is(err, io.EOF) {
		return p.wrong(token, err, "nothing behind the policy")
	}
	return nil
}

// rules reads the list of rules.
func (p *parser) rules() error {
	if err := p.delim('[', "a list of rules"); err != nil {
		return err
	}
	for p.json.More() {
		if p.rule++; p.rule > MaxRules {
			return p.fail("", "", fmt.Errorf("%w: more than %d rules", ErrTooLarge, MaxRules))
		}
		if err := p.oneRule(); err != nil {
			return err
		}
	}
	p.rule = 0
	return p.delim(']', "the end of the list of rules")
}

// oneRule reads a rule.
func (p *parser) oneRule() error {
	if err := p.delim('{', "a rule"); err != nil {
		return err
	}
	r := rule{number: p.rule}
	seen := make(map[string]bool)
	for p.json.More() {
		field, err := p.text("the name of a field")
		if err != nil {
			return err
		}
		if seen[field] {
			return p.fail(field, "", ErrDuplicateField)
		}
		seen[field] = true
		if err := p.field(&r, field); err != nil {
			return err
		}
	}
	if err := p.delim('}', "the end of a rule"); err != nil {
		return err
	}
	switch {
	case !seen["who"]:
		return p.fail("who", "", fmt.Errorf("%w: want who the rule is for", ErrMissingField))
	case len(seen) == 1:
		return p.fail("", r.who.text, fmt.Errorf("%w: the rule allows nothing: want publish, subscribe, send, receive or describe", ErrMissingField))
	}
	p.policy.rules = append(p.policy.rules, r)
	return nil
}

// field reads the value of a field of a rule.
func (p *parser) field(r *rule, field string) error {
	action, err := ParseAction(field)
	if field != "who" && err != nil {
		return p.fail(field, "", fmt.Errorf("%w: a rule has who, publish, subscribe, send, receive and describe", ErrUnknownField))
	}
	value, err := p.text("a text")
	if err != nil {
		var place *PolicyError
		if errors.As(err, &place) {
			place.Field = field
		}
		return err
	}
	if field == "who" {
		if r.who, err = parsePattern(value); err != nil {
			return p.fail(field, value, err)
		}
		return nil
	}
	set, err := tags.ParseSet(value)
	switch {
	case err != nil:
		return p.fail(field, "", err) // which quotes the value where it is wrong
	case set.IsEmpty():
		return p.fail(field, "", fmt.Errorf("%w: no tags: leave the field out", ErrMissingField))
	}
	if p.parts += set.Parts(); p.parts > MaxParts {
		return p.fail(field, "", fmt.Errorf("%w: more than %d ranges and patterns", ErrTooLarge, MaxParts))
	}
	r.tags[action] = set
	return nil
}

// delim reads a delimiter.
func (p *parser) delim(want json.Delim, what string) error {
	token, err := p.json.Token()
	if err != nil || token != want {
		return p.wrong(token, err, what)
	}
	return nil
}

// text reads a text.
func (p *parser) text(what string) (string, error) {
	token, err := p.json.Token()
	text, ok := token.(string)
	if err != nil || !ok {
		return "", p.wrong(token, err, what)
	}
	return text, nil
}

// wrong reports what was read in the place of something else.
func (p *parser) wrong(token json.Token, err error, want string) error {
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return p.fail("", "", fmt.Errorf("%w: the text ends here, want %s: copy the whole file", ErrSyntax, want))
	case err != nil:
		return p.fail("", "", fmt.Errorf("%w: %w", ErrSyntax, err))
	}
	return p.fail("", "", fmt.Errorf("%w: got %.40v, want %s", ErrSyntax, token, want))
}

// fail returns an error at the place that was reached.
func (p *parser) fail(field, value string, err error) error {
	at := min(p.json.InputOffset(), int64(len(p.data)))
	return &PolicyError{
		File: p.file, Line: 1 + bytes.Count(p.data[:at], []byte("\n")), Rule: p.rule, Field: field, Value: value, Err: err,
	}
}
