// SPDX-License-Identifier: Apache-2.0

package acl

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tagbus/identity"
)

// pattern is who a rule is for. The package comment says what it matches.
type pattern struct {
	text  string
	kind  patternKind
	parts []string // what stands for itself, from the first star to behind the last one
	deep  []bool   // of the star behind each part except the last: is it **?
}

type patternKind uint8

const (
	named         patternKind = iota // by a name, maybe with stars
	authenticated                    // * alone
	anonymous
)

// parsePattern reads a pattern.
//
//   - Errors: ErrWho, wrapped with what is wrong.
func parsePattern(text string) (pattern, error) {
	switch text {
	case "*":
		return pattern{text: text, kind: authenticated}, nil
	case identity.AnonymousName:
		return pattern{text: text, kind: anonymous}, nil
	}
	kind, rest, _ := strings.Cut(text, ":")
	switch {
	case !slices.Contains([]string{"uri", "dns", "cn"}, kind):
		return pattern{}, fmt.Errorf("%w: want uri:…, dns:…, cn:…, anonymous, or * for each peer with a certificate", ErrWho)
	case rest == "":
		return pattern{}, fmt.Errorf("%w: nothing stands behind the kind, %s", ErrWho, kind)
	case len(text) > MaxPatternBytes:
		return pattern{}, fmt.Errorf("%w: %d bytes, at most %d may be", ErrWho, len(text), MaxPatternBytes)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return pattern{}, fmt.Errorf("%w: no name has characters that cannot be shown", ErrWho)
	case strings.Contains(text, "***"):
		return pattern{}, fmt.Errorf("%w: want * or **, not more", ErrWho)
	}
	p := pattern{text: text}
	if kind == "dns" {
		text = strings.ToLower(text)
	}
	for {
		part, behind, found := strings.Cut(text, "*")
		p.parts = append(p.parts, part)
		if !found {
			break
		}
		text = strings.TrimPrefix(behind, "*")
		p.deep = append(p.deep, text != behind)
	}
	if len(p.deep) > MaxStars {
		return pattern{}, fmt.Errorf("%w: %d stars, at most %d may be", ErrWho, len(p.deep), MaxStars)
	}
	return p, nil
}

// matches reports whether the pattern is for a peer.
func (p *pattern) matches(who identity.Principal, names []string) bool {
	switch p.kind {
	case anonymous:
		return who.IsAnonymous()
	case authenticated:
		return !who.IsAnonymous()
	default:
		return !who.IsAnonymous() && slices.ContainsFunc(names, p.matchesName)
	}
}

// matchesName reports whether the pattern matches a name as a whole.
func (p *pattern) matchesName(name string) bool {
	first, last := p.parts[0], p.parts[len(p.parts)-1]
	if len(p.parts) == 1 {
		return name == first
	}
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	if len(p.parts) == 2 {
		return p.deep[0] || !strings.Contains(name, "/")
	}
	return p.between(name)
}

// between reports whether the stars, and the parts between them, match a text as a whole. It
// steps through the text once for each star: ends has each place to which the stars and parts so far
// may reach.
func (p *pattern) between(text string) bool {
	ends := make([]bool, len(text)+1)
	ends[0] = true
	for i, deep := range p.deep {
		reach := make([]bool, len(text)+1)
		open := false // a star may reach here
		for at := range reach {
			if at > 0 && !deep && text[at-1] == '/' {
				open = false
			}
			open = open || ends[at]
			reach[at] = open
		}
		if i == len(p.deep)-1 {
			return reach[len(text)]
		}
		clear(ends)
		for at, reached := range reach {
			if part := p.parts[i+1]; reached && strings.HasPrefix(text[at:], part) {
				ends[at+len(part)] = true
			}
		}
	}
	return false
}

// near returns how many bytes at the beginning of a pattern and of the name that is most like it
// are the same.
func (p *pattern) near(names []string) (most int) {
	for _, name := range names {
		n := 0
		for n < len(name) && n < len(p.text) && name[n] == p.text[n] {
			n++
		}
		most = max(most, n)
	}
	return most
}
