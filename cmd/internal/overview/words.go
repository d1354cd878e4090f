// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/units"
	"tagbus/internal/sanitize"
)

// maxNamed is how many instances, or other things, a text names.
const maxNamed = 4

// Called returns what operators call an instance: its name, or else its id, and its host.
func (e *End) Called() string {
	name := sanitize.Text(cmp.Or(e.Name, e.Instance))
	if name == "" {
		return "the directory"
	}
	if e.Host != "" {
		name += " on " + sanitize.Text(e.Host)
	}
	return name
}

// Named names some instances, and says how many more there are.
func Named(all []End) string {
	var names []string
	for i := range all[:min(len(all), maxNamed)] {
		names = append(names, all[i].Called())
	}
	if rest := len(all) - len(names); rest > 0 {
		names = append(names, units.FormatCount(uint64(rest))+" more")
	}
	return strings.Join(names, ", ")
}

// Few names the first of some things, and says how many more there are.
func Few[T any](all []T, name func(*T) string) string {
	var names []string
	for i := range all[:min(len(all), maxNamed)] {
		names = append(names, name(&all[i]))
	}
	if rest := len(all) - len(names); rest > 0 {
		names = append(names, fmt.Sprintf("%d more", rest))
	}
	return strings.Join(names, ", ")
}

// says returns which others say so; "" if none does.
func (g *Group) says() string {
	switch {
	case len(g.Witnesses) == 0 || len(g.Witnesses) == 1 && g.Witnesses[0] == g.Culprit:
		return ""
	case len(g.Witnesses) == 1:
		return " (says " + g.Witnesses[0].Called() + ")"
	default:
		return fmt.Sprintf(" (say %s: %s)", units.FormatCount(uint64(len(g.Witnesses))), Named(g.Witnesses))
	}
}

// Text says what is wrong with the culprit, and who says so. It is one line, safe to show.
func (g *Group) Text() string {
	word := words[g.ID]
	text := g.ID
	if word.text != nil {
		text = word.text(&g.Problem)
	}
	return sanitize.Line(text) + g.says()
}

// Do returns what to do about it; "" if there is nothing.
func (p *Problem) Do() string {
	if p.ID == Losing || p.ID == LostBefore {
		return advice[p.Cause]
	}
	return words[p.ID].do
}

// alone returns a problem as the only one of its group.
func (p *Problem) alone() Group {
	g := Group{Problem: *p, Problems: []Problem{*p}}
	if p.Witness != (End{}) {
		g.Witnesses = []End{p.Witness}
	}
	return g
}

// Text is that of a group that has only this problem.
func (p *Problem) Text() string {
	g := p.alone()
	return g.Text()
}

// advice is what to do about losses of a cause: docs/tour.md, "What was lost?".
var advice = map[state.Cause]string{
	state.Full:       "make the subscriber faster, give it a larger --backlog, or accept it",
	state.Memory:     "raise --pool-bytes of the publisher",
	state.Connection: "look at the network, and whether a side was killed or stopped",
	state.Ended:      "report it: this is an error of the bus",
	state.Overflow:   "make the program read faster, or raise its --queue-bytes",
	state.Panic:      "look at the log of the program, which has the panic, and mend its handler",
}

// word is what a problem is called.
type word struct {
	text func(*Problem) string
	do   string
}

const slow = "look at its processor, its output and the network; publisher --max-stall ends the wait, subscriber --policy latest avoids it"

// words are those of the ids.
var words = map[string]word{
	PeerStalled: {func(p *Problem) string {
		const means = ": tags are not published if the policy is block, and messages are lost otherwise"
		if p.Count > 0 {
			return "peers that its answer does not name take nothing, " + units.FormatCount(p.Count) + " in all" + means
		}
		return "it takes nothing of what waits for it" + since(p.First) + means
	}, slow},
	QueueFull: {func(*Problem) string {
		return "its queue is at its limit: it is slower than what is published for it, which is no fault if that is as fast as it can be"
	}, slow + "; or give it a larger --backlog"},
	PeerQuiet: {
		func(p *Problem) string { return "nothing was heard of it" + since(p.First) },
		"look whether it is stopped or cut off; it is no fault if its --heartbeat is longer, or 0",
	},
	PeerGone: {func(p *Problem) string {
		return "it went without goodbye" + at(p.First) + " and has not come back: " + p.Why
	}, "look whether it is killed, stopped or cut off, and start it again"},
	PeerCutOff: {func(p *Problem) string {
		if p.Culprit == p.Witness {
			return fmt.Sprintf("it took nothing, or stood still: the other side ended its connection %s%s; the last%s", times(p.Count), span(p.First, p.Last), because(p.Why))
		}
		how := fmt.Sprintf("ended without goodbye %s%s", times(p.Count), span(p.First, p.Last))
		if p.Count == 1 {
			return "its connection " + how + because(p.Why) + "; it has come back"
		}
		return "it is cut off again and again: its connections " + how + "; the last" + because(p.Why)
	}, "if it took nothing, make it faster, or raise --max-stall of the other side, or the time of its --policy disconnect; else look whether it is stopped at times, and at the network between the two"},
	Resending: {func(p *Problem) string {
		share := units.FormatFigure(100 * float64(p.Count) / float64(max(1, p.Of)))
		return fmt.Sprintf("the network loses what is sent to it: %s of %s of TCP were sent again (%s %%)%s",
			units.FormatCount(p.Count), units.FormatNumber(p.Of, "segment"), share, span(p.First, p.Last))
	}, "look at the network between the two: errors of interfaces (ip -s link), cables, duplex, queues that are full; each loss delays what follows it"},
	SilentPeers: {func(p *Problem) string {
		return units.FormatNumber(p.Count, "connection") + " of it ended since it began because nothing was heard"
	}, "if a program is missing, look whether it is stopped or its host is cut off"},
	Losing: {func(p *Problem) string {
		if p.InAll {
			return fmt.Sprintf("messages were lost a moment ago, %s in all for the cause %s%s", units.FormatCount(p.Count), p.Cause, span(p.First, p.Last))
		}
		return fmt.Sprintf("messages are lost now, %s for the cause %s%s", units.FormatCount(p.Count), p.Cause, span(p.First, p.Last))
	}, ""},
	LostBefore: {func(p *Problem) string {
		return fmt.Sprintf("%s lost before, for the cause %s%s, and none now", were(p.Count), p.Cause, span(p.First, p.Last))
	}, ""},
	Unconfirmed: {func(p *Problem) string {
		return fmt.Sprintf("%s unconfirmed, lost or received: on their way when a connection ended%s", units.FormatNumber(p.Count, "message"), span(p.First, p.Last))
	}, "look at the lost lines of its publishers: a subscriber that comes back confirms what it has"},
	ConnectionsBreak: {func(p *Problem) string {
		return units.FormatNumber(p.Count, "connection") + " of it broke while this program looked"
	}, "look at the lost lines of both sides, and at the network"},
	Refusing: {func(p *Problem) string {
		return fmt.Sprintf("%s there was no room for a message while this program looked: it is held up by its slowest subscriber, or by --pool-bytes", units.FormatNumber(p.Count, "time"))
	}, "this is no fault of one that publishes as fast as it can; behind a detector, find the slow subscriber by tagbus top"},
	PoolEmpty: {func(p *Problem) string {
		return fmt.Sprintf("none of its %d pages is free: nothing can be published", p.Count)
	}, poolDo},
	PoolWasEmpty: {func(p *Problem) string {
		return fmt.Sprintf("none of its %d pages was free at a time within the last two minutes: publishing waited", p.Count)
	}, poolDo},
	EntryFailing: {func(*Problem) string {
		return "it cannot renew its entry: programs that start after it has expired do not find it"
	}, "its problem lines have the cause: permissions, a full disk, a file system or servers that do not answer"},
	EntryCrowded: {func(*Problem) string {
		return "its directory has more entries than programs follow: some do not find it"
	}, "use a folder for each part of the bus, on etcd a name (etcd://HOST/NAME), or start all programs of a folder with a larger --max-entries: its problem lines have the number"},
	AccessFailing: {func(*Problem) string {
		return "its certificates or its policy cannot be read again: those of before are in use, and what was revoked since is not"
	}, "its warnings have the file, and the mistake or that its file system does not answer: mend that, and the program takes it within 10 s, or at once on SIGHUP"},
	TagsDenied: {
		func(p *Problem) string { return "a policy does not let it have " + p.Why + ", which it wants" },
		"let the policy there (--acl) allow it to subscribe to them, or take them from its --tags",
	},
	NoAnswer: {
		func(p *Problem) string { return "it does not answer" + since(p.First) + because(p.Why) },
		"tagbus check says what is wrong with its addresses; look at its host and its log",
	},
	NotAllowed: {
		func(p *Problem) string { return "it does not tell of itself: " + p.Why },
		"add this rule to its policy, if this command is to see what it knows",
	},
	NotObservable: {func(p *Problem) string { return "it does not tell of itself: " + p.Why }, "start it with this release to see what it knows"},
	StaleEntry: {
		func(p *Problem) string { return "it has gone without a word" + since(p.First) + because(p.Why) },
		"look why it did not end in order, and start it again if it is needed",
	},
	FolderFull: {func(*Problem) string {
		return "it has more names than programs look at: what is behind them is not found"
	}, "remove what is left of programs that have ended: tagbus check names it"},
	DirectoryProblem: {func(p *Problem) string { return "it reports a problem" + because(p.Why) }, "tagbus check says more"},
	DirectoryAway:    {func(p *Problem) string { return "it cannot be read" + because(p.Why) }, "tagbus check says more"},
}

const poolDo = "raise --pool-bytes, or lower --queue-bytes, so that slow subscribers hold less"

func were(messages uint64) string {
	if messages == 1 {
		return "1 message was"
	}
	return units.FormatNumber(messages, "message") + " were"
}

func times(n uint64) string {
	if n == 1 {
		return "once"
	}
	return units.FormatNumber(n, "time")
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " since " + units.FormatTime(t)
}

func at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " at " + units.FormatTime(t)
}

func span(first, last time.Time) string {
	switch {
	case first.IsZero() && last.IsZero():
		return ""
	case first.IsZero() || units.FormatTime(first) == units.FormatTime(last):
		return at(last)
	case last.IsZero():
		return at(first)
	default:
		return ", between " + units.FormatTime(first) + " and " + units.FormatTime(last)
	}
}
