// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// judges are what is looked for, in the order in which it is shown.
var judges = []func(*seen) []Finding{
	judgeFolder, judgeServers, judgeEntries, judgeCertificates, judgeAddresses, judgeAnswers, judgePath, judgeWays, judgeContacts, judgeFlow, judgeTags, judgeHost,
}

// judge returns all findings: groups in their order, the worst last within each.
func judge(s *seen) []Finding {
	var all []Finding
	for _, j := range judges {
		all = append(all, j(s)...)
	}
	if s.ended != nil {
		f := &findings{group: "check"}
		f.add(Warning, "unfinished", s.bus, "run it again", "the check was ended before it was done: the rest is not known")
		all = append(all, f.all...)
	}
	return all
}

// words are the first word of the summary, as monitoring plugins have it.
var words = [...]string{OK: "OK", Note: "OK", Warning: "WARNING", Error: "CRITICAL"}

// summary returns the one line that says it all, as monitoring plugins do.
func summary(s *seen, all []Finding) string {
	var parts []string
	all = grouped(all)
	for _, l := range []struct {
		level     Level
		one, many string
	}{{Error, "error", "errors"}, {Warning, "warning", "warnings"}, {Note, "note", "notes"}} {
		if ids := idsOf(all, l.level); len(ids) > 0 {
			parts = append(parts, count(total(all, l.level), l.one, l.many)+" ("+strings.Join(ids, ", ")+")")
		}
	}
	answered := 0
	for i := range s.entries {
		if s.entries[i].state() != nil {
			answered++
		}
	}
	parts = append(parts, fmt.Sprintf("%d of %s answered", answered, count(len(s.entries), "entry", "entries")))
	return words[worst(all)] + " - " + strings.Join(parts, ", ")
}

// idsOf returns the ids of one level, the worst first.
func idsOf(all []Finding, l Level) []string {
	var ids []string
	for _, f := range all {
		if f.Level == l {
			ids = append(ids, f.ID)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(worstFirst(l, a, l, b), cmp.Compare(a, b)) })
	return slices.Compact(ids)
}

func total(all []Finding, l Level) (n int) {
	for _, f := range all {
		if f.Level == l {
			n++
		}
	}
	return n
}

// write writes what one look has found.
func (c *Command) write(out io.Writer, asJSON bool, s *seen, all []Finding) error {
	var b strings.Builder
	if c.Nagios {
		fmt.Fprintln(&b, summary(s, all))
	}
	switch {
	case asJSON:
		for _, f := range all {
			if c.Quiet && f.Level == OK {
				continue
			}
			if err := json.NewEncoder(&b).Encode(f); err != nil {
				return err
			}
		}
	case c.Verbose:
		c.writeEach(&b, all)
	default:
		writeGrouped(&b, all)
	}
	if !c.Nagios && !asJSON {
		fmt.Fprintln(&b, summary(s, all))
	}
	text := b.String()
	if c.Nagios {
		text = strings.ReplaceAll(text, "|", "/") // what is behind it would be figures to a monitoring system
	}
	_, err := io.WriteString(out, text)
	return err
}

// writeEach writes all findings by what they are about.
func (c *Command) writeEach(b *strings.Builder, all []Finding) {
	group := ""
	for _, f := range all {
		if c.Quiet && f.Level == OK {
			continue
		}
		if f.Group != group {
			group = f.Group
			fmt.Fprintln(b, group)
		}
		f.writeText(b, "")
	}
}

// writeText writes a finding for people, in one line or two.
//
//   - change: stands before the level; may be empty.
func (f Finding) writeText(b *strings.Builder, change string) {
	if f.Level == OK {
		fmt.Fprintf(b, "  %s%s: %s: %s\n", change, f.Level, f.About, f.Text)
		return
	}
	fmt.Fprintf(b, "  %s%s: %s: %s: %s\n", change, f.Level, f.ID, f.About, f.Text)
	if f.Do != "" {
		fmt.Fprintf(b, "      do: %s\n", f.Do)
	}
}

// change is a finding that is new or gone since the last look.
type change struct {
	Time   time.Time `json:"time"`
	Change string    `json:"change"` // "new" or "gone"
	Finding
}

// changes returns what is new and what is gone, except what is ok.
func changes(at time.Time, before, now []Finding) []change {
	var result []change
	missing := func(from, in []Finding, what string) {
		have := make(map[string]bool, len(in))
		for _, f := range in {
			have[f.key()] = true
		}
		for _, f := range from {
			if f.Level != OK && !have[f.key()] {
				have[f.key()] = true
				result = append(result, change{at, what, f})
			}
		}
	}
	missing(before, now, "gone")
	missing(now, before, "new")
	return result
}

// writeChanges writes what has changed, if anything has.
func writeChanges(out io.Writer, asJSON bool, all []change, summary string) error {
	if len(all) == 0 {
		return nil
	}
	var b strings.Builder
	if !asJSON {
		fmt.Fprintf(&b, "%s %s\n", all[0].Time.Format(time.RFC3339), summary)
	}
	for _, c := range all {
		if !asJSON {
			c.writeText(&b, c.Change+" ")
		} else if err := json.NewEncoder(&b).Encode(c); err != nil {
			return err
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}
