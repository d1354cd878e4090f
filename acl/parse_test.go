// SPDX-License-Identifier: Apache-2.0

package acl_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tagbus/acl"
	"tagbus/identity"
	"tagbus/tags"
)

func TestParse_refuses(t *testing.T) {
	rule := func(text string) string { return `{"rules":[{"who":"cn:a","send":"1"},` + "\n" + text + `]}` }
	long := strings.Repeat("x", acl.MaxPatternBytes)
	tests := []struct {
		name string
		text string
		err  error
		want string // the beginning of the text, or all of it
	}{
		{"nothing", "", acl.ErrSyntax, "site.json:1: not a policy: the text ends here, want {, with which a policy begins: copy the whole file"},
		{"a list", "[]", acl.ErrSyntax, "site.json:1: not a policy: got [, want {, with which a policy begins"},
		{"text of another kind", "rules = 1", acl.ErrSyntax, "site.json:1: not a policy: invalid character"},
		{"no rules", "{}", acl.ErrMissingField, `site.json:1: something is missing: want "rules": [...], which may be empty`},
		{"another field", "{\n\"Rules\":[]}", acl.ErrUnknownField, "site.json:2: Rules: unknown field: a policy has only rules"},
		{"rules twice", `{"rules":[],"rules":[]}`, acl.ErrDuplicateField, "site.json:1: rules: field given twice"},
		{"rules that are no list", `{"rules":{}}`, acl.ErrSyntax, "site.json:1: not a policy: got {, want a list of rules"},
		{"text behind", `{"rules":[]} {}`, acl.ErrSyntax, "site.json:1: not a policy: got {, want nothing behind the policy"},
		{"half a policy", `{"rules":[{"who":"cn:a",`, acl.ErrSyntax, "site.json:1: rule 1: not a policy: the text ends here"},
		{"a comma too many", `{"rules":[{"who":"cn:a","send":"1"},]}`, acl.ErrSyntax, "site.json:1: rule 2: not a policy: invalid character"},
		{"no UTF-8", "{\"rules\":[{\"who\":\"cn:\xff\"}]}", acl.ErrSyntax, "site.json:1: not a policy: its text is not UTF-8"},
		{"a rule that is a text", rule(`"a"`), acl.ErrSyntax, "site.json:2: rule 2: not a policy: got a, want a rule"},
		{"another field of a rule", rule(`{"who":"cn:a","subscibe":"1"}`), acl.ErrUnknownField, "site.json:2: rule 2: subscibe: unknown field: a rule has who, publish, subscribe, send, receive and describe"},
		{"a field in capitals", rule(`{"Who":"cn:a","send":"1"}`), acl.ErrUnknownField, "site.json:2: rule 2: Who: unknown field"},
		{"a field twice", rule(`{"who":"cn:a","send":"1","send":"2"}`), acl.ErrDuplicateField, "site.json:2: rule 2: send: field given twice"},
		{"nothing that is allowed", rule(`{"who":"cn:a"}`), acl.ErrMissingField, "site.json:2: rule 2: cn:a: something is missing: the rule allows nothing"},
		{"no peer", rule(`{"send":"1"}`), acl.ErrMissingField, "site.json:2: rule 2: who: something is missing"},
		{"a number of tags", rule(`{"who":"cn:a","send":1}`), acl.ErrSyntax, "site.json:2: rule 2: send: not a policy: got 1, want a text"},
		{"no tags", rule(`{"who":"cn:a","send":" "}`), acl.ErrMissingField, "site.json:2: rule 2: send: something is missing: no tags"},
		{"tags that are none", rule(`{"who":"cn:a","send":"1,x"}`), tags.ErrSyntax, `site.json:2: rule 2: send: tags: `},
		{"a range that ends first", rule(`{"who":"cn:a","send":"9-1"}`), tags.ErrRangeOrder, "site.json:2: rule 2: send: tags: "},
		{"no kind", rule(`{"who":"felix","send":"1"}`), acl.ErrWho, "site.json:2: rule 2: who: felix: not a pattern of peers: want uri:…"},
		{"an unknown kind", rule(`{"who":"URI:a","send":"1"}`), acl.ErrWho, "site.json:2: rule 2: who: URI:a: not a pattern of peers"},
		{"every peer there is", rule(`{"who":"**","send":"1"}`), acl.ErrWho, "site.json:2: rule 2: who: **: not a pattern of peers"},
		{"a kind alone", rule(`{"who":"uri:","send":"1"}`), acl.ErrWho, "site.json:2: rule 2: who: uri:: not a pattern of peers: nothing stands behind the kind, uri"},
		{"three stars", rule(`{"who":"uri:a***","send":"1"}`), acl.ErrWho, "site.json:2: rule 2: who: uri:a***: not a pattern of peers: want * or **, not more"},
		{"many stars", rule(`{"who":"uri:` + strings.Repeat("a*", 9) + `","send":"1"}`), acl.ErrWho, "site.json:2: rule 2: who: uri:a*a*"},
		{"a long pattern", rule(`{"who":"cn:` + long + `","send":"1"}`), acl.ErrWho, "site.json:2: rule 2: who: cn:xxx"},
		{"a pattern that clears the screen", rule(`{"who":"cn:\u001b[2J","send":"1"}`), acl.ErrWho, `site.json:2: rule 2: who: "cn:\x1b[2J": not a pattern`},
		{"too many rules", `{"rules":[` + strings.Repeat(`{"who":"cn:a","send":"1"},`, acl.MaxRules) + `{}]}`, acl.ErrTooLarge, "site.json:1: rule 10001: policy too large: more than 10000 rules"},
		{"too many bytes", strings.Repeat(" ", acl.MaxBytes+1), acl.ErrTooLarge, "site.json:1: policy too large"},
		{"too deep", `{"rules":` + strings.Repeat("[", 100_000), acl.ErrSyntax, "site.json:1: rule 1: not a policy: got [, want a rule"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, err := acl.Parse("site.json", []byte(test.text))
			var place *acl.PolicyError
			if p != nil || !errors.Is(err, test.err) || !errors.As(err, &place) || place.File != "site.json" {
				t.Fatalf("got %v, %v, want a PolicyError with %v", p, err, test.err)
			}
			if !strings.HasPrefix(err.Error(), test.want) || len(err.Error()) > 400 || strings.ContainsAny(err.Error(), "\x1b\n") {
				t.Errorf("got  %s\nwant %s…", err, test.want)
			}
		})
	}
	if _, err := acl.Parse("", []byte("{}")); err == nil || !strings.HasPrefix(err.Error(), "policy, line 1: ") {
		t.Errorf("got %v, want the line", err)
	}
}

// TestParse_tooManyTags: the bound is on all rules together.
func TestParse_tooManyTags(t *testing.T) {
	var b strings.Builder
	for i := range acl.MaxParts/200 + 1 {
		fmt.Fprintf(&b, "%d,", 2*i)
	}
	one := `{"who":"cn:a","send":"` + strings.TrimSuffix(b.String(), ",") + `"}`
	text := `{"rules":[` + strings.TrimSuffix(strings.Repeat(one+",", 201), ",") + `]}`
	if _, err := acl.Parse("", []byte(text)); !errors.Is(err, acl.ErrTooLarge) || !strings.Contains(err.Error(), "rule 200: send") {
		t.Errorf("got %v, want ErrTooLarge at rule 200", err)
	}
}

func TestParseAction_names(t *testing.T) {
	for _, a := range acl.Actions() {
		var b acl.Action
		if err := b.UnmarshalText([]byte(a.String())); err != nil || a != b {
			t.Errorf("%v: got %v, %v", a, b, err)
		}
	}
	if _, err := acl.ParseAction("Publish\n"); !errors.Is(err, acl.ErrUnknownAction) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want ErrUnknownAction", err)
	}
}

// FuzzParse: no text makes Parse or what it returns fail, what it takes allows only what is asked of it
// by a rule, and errors are lines.
func FuzzParse(f *testing.F) {
	f.Add([]byte(site), "uri:spiffe://cern.ch/daq/felix-07")
	f.Add([]byte(`{"rules":[{"who":"uri:*a**b*","send":"1&3"}]}`), "uri:a/b")
	f.Add([]byte(`{"rules":[{"who":"*","send":"*"},{"who":"anonymous","describe":"0-5"}]}`), "anonymous")
	f.Fuzz(func(t *testing.T, data []byte, name string) {
		p, err := acl.Parse("f", data)
		if err != nil {
			var place *acl.PolicyError
			if !errors.As(err, &place) || strings.Contains(err.Error(), "\n") || place.Line < 1 {
				t.Fatalf("got %q, want a PolicyError of a line", err)
			}
			return
		}
		peer, err := identity.NewPrincipal(name)
		if err != nil {
			return
		}
		for _, a := range acl.Actions() {
			may, mayNot := p.Split(peer, a, tags.Everything())
			for _, tag := range slices.Concat(first(may), first(mayNot)) {
				if e := p.Explain(peer, a, tag); e.Allowed != may.Contains(tag) || e.Allowed && e.Rule == 0 || strings.Contains(e.String(), "\n") {
					t.Fatalf("%v %v: got %v, want what Split says: %v", a, tag, e, may.Contains(tag))
				}
			}
		}
	})
}

// first returns some tags of a set.
func first(s tags.Set) (some []tags.Tag) {
	for tag := range s.All() {
		if some = append(some, tag); len(some) == 10 {
			break
		}
	}
	return some
}

// TestParse_aMarkOfAnEditor in front of the text is no part of it.
func TestParse_aMarkOfAnEditor(t *testing.T) {
	if _, err := acl.Parse("p.json", []byte("\ufeff{\"rules\": []}\r\n")); err != nil {
		t.Errorf("got %v, want a policy", err)
	}
}
