// SPDX-License-Identifier: Apache-2.0

package acl_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tagbus/acl"
	"tagbus/identity"
	"tagbus/internal/testkit"
	"tagbus/tags"
)

const site = `{"rules": [
	{"who": "uri:spiffe://cern.ch/daq/felix-*", "publish": "0x1000-0x1fff"},
	{"who": "uri:spiffe://cern.ch/dcs/*", "subscribe": "0x1000-0x10ff", "send": "0x2000"},
	{"who": "cn:shift", "subscribe": "0x1000-0x1003"},
	{"who": "dns:*.CERN.ch", "receive": "0x2000", "subscribe": "0x20,0x30"},
	{"who": "*", "describe": "0x1000-0x1fff"},
	{"who": "anonymous", "describe": "0x1000"}
]}`

func TestPolicy_Allowed_forEachPeerAndAction(t *testing.T) {
	felix, dcs := "uri:spiffe://cern.ch/daq/felix-07", "uri:spiffe://cern.ch/dcs/gas"
	tests := []struct {
		who    []string
		action acl.Action
		want   string
	}{
		{[]string{felix}, acl.Publish, "0x1000-0x1fff"},
		{[]string{felix}, acl.Subscribe, ""},
		{[]string{felix}, acl.Action(9), ""},
		{[]string{felix + "/admin"}, acl.Publish, ""},
		{[]string{"uri:spiffe://cern.ch/daq/felix-"}, acl.Publish, "0x1000-0x1fff"},
		{[]string{"cn:spiffe://cern.ch/daq/felix-07"}, acl.Publish, ""},
		{[]string{dcs}, acl.Subscribe, "0x1000-0x10ff"},
		{[]string{dcs}, acl.Send, "0x2000"},
		{[]string{dcs, felix}, acl.Publish, "0x1000-0x1fff"},
		{[]string{"cn:shift"}, acl.Subscribe, "0x1000-0x1003"},
		{[]string{"cn:shift"}, acl.Describe, "0x1000-0x1fff"},
		{[]string{"cn:Shift"}, acl.Subscribe, ""},
		{[]string{"dns:a.b.cern.ch"}, acl.Receive, "0x2000"},
		{[]string{"dns:cern.ch"}, acl.Receive, ""},
		{nil, acl.Describe, "0x1000"},
		{nil, acl.Subscribe, ""},
		{[]string{"cn:anonymous"}, acl.Describe, "0x1000-0x1fff"},
	}
	p := parse(t, site)
	for _, test := range tests {
		for range 2 { // the second time from what is kept
			if got := p.Allowed(who(t, test.who...), test.action); !got.Equal(set(t, test.want)) {
				t.Errorf("%v %v: got %v, want %v", test.who, test.action, got, test.want)
			}
		}
	}
	if got := new(acl.Policy).Allowed(who(t, felix), acl.Publish); !got.IsEmpty() {
		t.Errorf("got %v of a policy without rules, want nothing", got)
	}
}

func TestPolicy_Split_allowedAndRefused(t *testing.T) {
	p := parse(t, site)
	tests := []struct{ asked, may, mayNot string }{
		{"0x1000-0x1003", "0x1000-0x1003", ""},
		{"0x1002-0x1005", "0x1002-0x1003", "0x1004-0x1005"},
		{"1", "", "1"},
		{"", "", ""},
	}
	for _, test := range tests {
		may, mayNot := p.Split(who(t, "cn:shift"), acl.Subscribe, set(t, test.asked))
		if !may.Equal(set(t, test.may)) || !mayNot.Equal(set(t, test.mayNot)) {
			t.Errorf("%q: got %q and %q, want %q and %q", test.asked, may, mayNot, test.may, test.mayNot)
		}
	}
}

// TestPolicy_Split_refusesASetThatIsTooComplex: what cannot be decided is not allowed.
func TestPolicy_Split_refusesASetThatIsTooComplex(t *testing.T) {
	var patterns, ranges []string
	for i := range 5 {
		patterns = append(patterns, fmt.Sprintf("%v&%v", tags.Tag(i)<<(12*i), tags.Tag(0xfff)<<(12*i)))
	}
	for i := range tags.Tag(5000) {
		ranges = append(ranges, fmt.Sprintf("%v-%v", i<<20+1, i<<20+1<<19+1))
	}
	p := parse(t, `{"rules":[{"who":"cn:a","subscribe":"`+strings.Join(patterns, ",")+`"}]}`)
	asked := set(t, strings.Join(ranges, ","))
	may, mayNot := p.Split(who(t, "cn:a"), acl.Subscribe, asked)
	if !may.IsEmpty() || !mayNot.Equal(asked) {
		t.Errorf("got %d parts that are allowed, want none", may.Parts())
	}
}

// drawn are what random policies and peers are made of: few, so that they meet.
var (
	drawnWho  = []string{"uri:a/b", "uri:a/*", "uri:*", "uri:**", "uri:*b*/**c", "uri:**/b*", "uri:a*/*b", "cn:a", "cn:*", "cn:*a*b*", "dns:A*", "dns:**", "*", "anonymous"}
	drawnName = []string{"a", "b", "ab", "a/b", "a/bc", "a/b/c", "b/a/c", "b/b/c", "abab", "/"}
	drawnTags = []string{"1", "2-9", "5-20", "0&1", "1&3", "*", "30", "8&0xf8"}
)

// regular returns the regular expression of a pattern.
func regular(pattern string) *regexp.Regexp {
	if strings.HasPrefix(pattern, "dns:") {
		pattern = strings.ToLower(pattern)
	}
	r := regexp.QuoteMeta(pattern)
	r = strings.ReplaceAll(r, `\*\*`, `.{0,}`)
	r = strings.ReplaceAll(r, `\*`, `[^/]*`)
	return regexp.MustCompile("^(?:" + r + ")$")
}

// applies is what a pattern matches by its documentation.
func applies(pattern string, p identity.Principal) bool {
	switch pattern {
	case "*":
		return !p.IsAnonymous()
	case "anonymous":
		return p.IsAnonymous()
	}
	return !p.IsAnonymous() && slices.ContainsFunc(p.Names(), regular(pattern).MatchString)
}

// TestPolicy_Allowed_isWhatTheRulesSay compares with a look at each rule, for each tag.
func TestPolicy_Allowed_isWhatTheRulesSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rules []map[string]string
		for range rapid.IntRange(0, 6).Draw(t, "rules") {
			r := map[string]string{"who": rapid.SampledFrom(drawnWho).Draw(t, "who")}
			for range rapid.IntRange(1, 3).Draw(t, "fields") {
				action := rapid.SampledFrom(acl.Actions()).Draw(t, "action").String()
				r[action] = strings.Join(rapid.SliceOfN(rapid.SampledFrom(drawnTags), 1, 3).Draw(t, "tags"), ",")
			}
			rules = append(rules, r)
		}
		if rules == nil {
			rules = []map[string]string{}
		}
		text, err := json.Marshal(map[string]any{"rules": rules})
		if err != nil {
			t.Fatal(err)
		}
		p, err := acl.Parse("", text)
		if err != nil || p.Rules() != len(rules) {
			t.Fatalf("%s: %v", text, err)
		}
		for range 5 {
			var peer identity.Principal
			if kind := rapid.SampledFrom([]string{"uri:", "cn:", "dns:", ""}).Draw(t, "kind"); kind != "" {
				names := rapid.SliceOfN(rapid.SampledFrom(drawnName), 1, 2).Draw(t, "names")
				for i := range names {
					names[i] = kind + names[i]
				}
				if peer, err = identity.NewPrincipal(names...); err != nil {
					t.Fatal(err)
				}
			}
			for _, action := range acl.Actions() {
				allowed := p.Allowed(peer, action)
				for tag := range tags.Tag(34) {
					first := slices.IndexFunc(rules, func(r map[string]string) bool {
						s, err := tags.ParseSet(r[action.String()])
						return err == nil && s.Contains(tag) && applies(r["who"], peer)
					})
					e := p.Explain(peer, action, tag)
					if want := first >= 0; allowed.Contains(tag) != want || e.Allowed != want || want && e.Rule != first+1 {
						t.Fatalf("%s: %v %v %v: got %v and %v, want %v by rule %d", text, peer, action, tag, allowed, e, want, first+1)
					}
				}
			}
		}
	})
}

// shorter leaves the zeros at the beginning of tags out.
func shorter(text string) string { return regexp.MustCompile(`0x0+`).ReplaceAllString(text, "0x") }

func TestPolicy_Explain_saysWhichRule(t *testing.T) {
	p := parse(t, site)
	tests := []struct {
		who    string
		action acl.Action
		tag    tags.Tag
		want   string
	}{
		{"cn:shift", acl.Subscribe, 0x1001, "rule 3 (cn:shift) lets cn:shift subscribe to 0x1001"},
		{"cn:shift", acl.Subscribe, 0x1004, `no rule lets cn:shift subscribe to 0x1004: nearest is rule 3 (cn:shift), which lets it subscribe to 0x1000-0x1003; add {"who":"cn:shift","subscribe":"0x1004"}`},
		{"uri:spiffe://cern.ch/daq/felix-07", acl.Subscribe, 0x1001, `no rule lets uri:spiffe://cern.ch/daq/felix-07 subscribe to 0x1001: nearest is rule 1 (uri:spiffe://cern.ch/daq/felix-*), which lets it publish the tag, and not subscribe to it; add {"who":"uri:spiffe://cern.ch/daq/felix-07","subscribe":"0x1001"}`},
		{"uri:spiffe://cern.ch/dcx/gas", acl.Send, 0x2000, `no rule lets uri:spiffe://cern.ch/dcx/gas send 0x2000: nearest is rule 2 (uri:spiffe://cern.ch/dcs/*), which would, and is not for it; add {"who":"uri:spiffe://cern.ch/dcx/gas","send":"0x2000"}`},
		{"anonymous", acl.Describe, 0x1001, `no rule lets anonymous ask for the state of 0x1001: nearest is rule 6 (anonymous), which lets it ask for the state of 0x1000; add {"who":"anonymous","describe":"0x1001"}`},
		{"cn:other", acl.Publish, 1, `no rule lets cn:other publish 0x1: nearest is rule 5 (*), which is for it, and does not let it publish any tag; add {"who":"cn:other","publish":"0x1"}`},
		{"anonymous", acl.Receive, 1, `no rule lets anonymous receive 0x1: nearest is rule 6 (anonymous), which is for it, and does not let it receive any tag; add {"who":"anonymous","receive":"0x1"}`},
		{`cn:a"b`, acl.Action(7), 1, `no rule lets "cn:a\"b" Action(7) 0x1: no rule is near; add {"who":"cn:a\"b","Action(7)":"0x1"}`},
	}
	for _, test := range tests {
		if got := shorter(p.Explain(who(t, test.who), test.action, test.tag).String()); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
	if got := new(acl.Policy).Explain(who(t), acl.Send, 1).String(); shorter(got) != `no rule lets anonymous send 0x1: no rule is near; add {"who":"anonymous","send":"0x1"}` {
		t.Errorf("got %s", got)
	}
}

// TestPolicy_forgetsPeersWithoutEnd: what a policy keeps does not grow with them.
func TestPolicy_forgetsPeersWithoutEnd(t *testing.T) {
	p := parse(t, site)
	for i := range testkit.Fewer(20_000) {
		if got := p.Allowed(who(t, fmt.Sprintf("uri:spiffe://cern.ch/daq/felix-%d", i)), acl.Publish); got.IsEmpty() {
			t.Fatalf("peer %d may not publish", i)
		}
	}
	if n := p.Kept(); n < 1 || n > 4096 {
		t.Errorf("got %d peers, want at most 4,096", n)
	}
}
