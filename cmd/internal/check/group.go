// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/internal/sanitize"
)

// A large bus has one culprit more often than many, and hundreds of witnesses. So what has one
// cause and one culprit is written once, the worst first.

// mostOfAKind is how many findings of one kind are written each by itself.
const mostOfAKind = 3

// kind is what findings have in common that are written together.
type kind struct {
	level Level
	id    string
	all   []Finding // of each culprit, or host, one: those that most is said of first
}

// writeGrouped writes what is not all right, the worst first: what has one cause and culprit
// once, and of what has one cause the first few.
func writeGrouped(b *strings.Builder, all []Finding) {
	for _, k := range kinds(all) {
		shown := k.all
		if len(shown) > mostOfAKind {
			shown = shown[:mostOfAKind-1]
		}
		for _, f := range shown {
			f.writeText(b, "")
		}
		if rest := k.all[len(shown):]; len(rest) > 0 {
			names := overview.Few(rest, func(f *Finding) string { return f.About })
			fmt.Fprintf(b, "  %s: %s: %d more: %s (-v shows each)\n", k.level, k.id, len(rest), names)
		}
	}
}

// kinds puts findings together, the worst first.
func kinds(all []Finding) []*kind {
	var kinds []*kind
	for _, f := range grouped(all) {
		at := slices.IndexFunc(kinds, func(k *kind) bool { return k.level == f.Level && k.id == f.ID })
		if at < 0 {
			at = len(kinds)
			kinds = append(kinds, &kind{level: f.Level, id: f.ID})
		}
		kinds[at].all = append(kinds[at].all, f)
	}
	slices.SortStableFunc(kinds, func(a, b *kind) int { return worstFirst(a.level, a.id, b.level, b.id) })
	return kinds
}

// worstFirst orders what is found as all tools do.
func worstFirst(a Level, aID string, b Level, bID string) int {
	return cmp.Or(cmp.Compare(b, a), cmp.Compare(overview.Rank(aID), overview.Rank(bID)))
}

// grouped returns a finding for each cause and culprit.
func grouped(all []Finding) []Finding { return append(ofCulprits(all), ofHosts(all)...) }

// ofCulprits returns a finding for each problem that several instances may tell of.
func ofCulprits(all []Finding) (found []Finding) {
	var problems []overview.Problem
	for _, f := range all {
		if f.problem != nil && f.Level != OK {
			problems = append(problems, *f.problem)
		}
	}
	for _, g := range overview.Groups(problems) {
		found = append(found, Finding{
			Level: g.Level, ID: g.ID, About: g.Culprit.Called(), Instance: g.Culprit.Instance, Text: cli.Words(g.Text()), Do: g.Do(), differs: string(g.Cause),
		})
	}
	return found
}

// particulars are what differs between two texts about one fault: numbers, times and addresses.
var particulars = regexp.MustCompile(`\[?[0-9a-fA-F:.]*[0-9][0-9A-Za-z:.%µ]*\]?(?::[0-9]+)?`)

// fault tells what is wrong from what is wrong elsewhere, by its text.
func (f *Finding) fault() string { return particulars.ReplaceAllString(f.Text, "#") }

// ofHosts returns the other findings. Those of the instances of one host that say the same are
// one; another fault, if only in its words, is another finding.
func ofHosts(all []Finding) (found []Finding) {
	type key struct {
		level           Level
		id, host, fault string
	}
	same := make(map[key][]Finding)
	var order []key
	for i, f := range all {
		if f.problem != nil || f.Level == OK {
			continue
		}
		k := key{f.Level, f.ID, f.host, f.fault()}
		if f.host == "" {
			k.host = fmt.Sprintf("\x00%d", i) // it stands alone
		}
		if same[k] == nil {
			order = append(order, k)
		}
		same[k] = append(same[k], f)
	}
	slices.SortStableFunc(order, func(a, b key) int { return cmp.Compare(len(same[b]), len(same[a])) })
	for _, k := range order {
		first := same[k][0]
		if names := distinctAbout(same[k]); len(names) > 1 {
			first.About = fmt.Sprintf("%d instances on %s (%s)", len(names), sanitize.Text(k.host), overview.Few(names, func(name *string) string { return *name }))
			first.Text = "as the first: " + first.Text
			first.differs = k.fault
		}
		found = append(found, first)
	}
	return found
}

// distinctAbout returns what findings are about, each once, without its host.
func distinctAbout(all []Finding) (names []string) {
	for _, f := range all {
		name, _, _ := strings.Cut(f.About, " on ")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
