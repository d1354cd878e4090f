// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tagbus/bus/observer"
	"tagbus/cmd/internal/overview"
)

// judgeAnswers says which instances do not answer, and what they say is wrong.
func judgeAnswers(s *seen) []Finding {
	f := &findings{group: "answers"}
	reached, answered := 0, 0
	versions := make(map[string]int)
	for _, e := range s.living() {
		if !e.reached() {
			continue
		}
		reached++
		answer := e.state()
		if answer == nil {
			f.silent(e)
			continue
		}
		if e.first.state != nil && e.second.err != nil {
			f.of(&e.Entry, Warning, "no-answer", "look whether it was stopped (SIGSTOP, a debugger) or is overloaded",
				"it has answered a question, and a second later none any more: %v", e.second.err)
		}
		answered++
		versions[answer.Program]++
		if answer.EntryFailing {
			f.of(&e.Entry, Warning, "entry-failing", "its problem lines have the cause: permissions, a full disk, a file system or servers that do not answer",
				"it cannot renew its entry: programs that start after it has expired do not find it")
		}
		f.clocks(s, e)
	}
	f.versions(s.us.program, versions)
	if reached > 0 && answered == 0 && s.ended == nil && worst(f.all) < Warning {
		f.add(Warning, "nothing-known", s.bus, f.knowDo(),
			"nothing is known of this bus: none of %s that can be reached tells of itself", count(reached, "program", "programs"))
	}
	if answered > 0 {
		f.ok(s.bus, "%s; clocks agree", count(answered, "instance answers", "instances answer"))
	}
	return f.sorted()
}

// knowDo is what to do where no instance tells of itself.
func (f *findings) knowDo() string {
	has := func(id string) bool { return slices.ContainsFunc(f.all, func(x Finding) bool { return x.ID == id }) }
	switch denied, old := has("not-allowed"), has("not-observable"); {
	case denied && old:
		return "let this command see what programs know: add the rules that not-allowed names to their policies, and start the others with this release"
	case denied:
		return "let this command see what programs know: add the rules that not-allowed names to their policies"
	default:
		return "start the programs with this release, which tell what they know"
	}
}

// silent says why an instance that can be reached does not answer.
func (f *findings) silent(e *entrySeen) {
	switch err := e.first.err; {
	case err == nil: // not asked any more
	case errors.Is(err, observer.ErrDenied):
		_, why, _ := strings.Cut(err.Error(), observer.ErrDenied.Error()+": ")
		f.of(&e.Entry, Note, "not-allowed", "add this rule to its policy, if this command is to see what it knows",
			"it does not tell of itself: %s", why)
	case errors.Is(err, observer.ErrNotObservable):
		f.of(&e.Entry, Note, "not-observable", "start it with this release to see what it knows",
			"it does not tell of itself: %v", err)
	case isTimeout(err):
		f.of(&e.Entry, Warning, "no-answer", "look whether it is overloaded; if programs of its own host have answers, the path from there drops large packets: see mtu",
			"it says hello, and does not answer a question within %v", short(e.first.took))
	default:
		f.of(&e.Entry, Warning, "no-answer", "look at the log of the program", "it says hello, and does not answer a question: %v", err)
	}
}

// clocks says how far the clock of an instance is from ours.
func (f *findings) clocks(s *seen, e *entrySeen) {
	if e.Entry.Host == s.us.host {
		return // one clock
	}
	a := e.second
	if a.state == nil || e.first.state != nil && e.first.took < a.took {
		a = e.first
	}
	clock(a.state.Time.Sub(a.at), a.took/2, s.us.expiry, func(l Level, text string) {
		f.of(&e.Entry, l, "clock-differs", "synchronize the clocks of both hosts, for example by NTP",
			"its clock is %s: latencies between the two are wrong, and times in logs cannot be compared", text)
	})
}

// versions says which versions of tagbus there are, if there are several.
func (f *findings) versions(ours string, versions map[string]int) {
	if ours != "" && len(versions) > 0 {
		versions[ours] += 0
	}
	if len(versions) < 2 {
		return
	}
	most := slices.SortedFunc(maps.Keys(versions), func(a, b string) int {
		return cmp.Or(versions[b]-versions[a], cmp.Compare(a, b))
	})
	f.add(Note, "version-differs", "tagbus", "use one release in a bus, unless you are just changing it",
		"%d versions are in use: %s", len(versions), overview.Few(most, func(v *string) string {
			text := fmt.Sprintf("%s (%s", cmp.Or(*v, "unknown"), count(versions[*v], "instance", "instances"))
			if *v == ours {
				text += ", and this command"
			}
			return text + ")"
		}))
}
