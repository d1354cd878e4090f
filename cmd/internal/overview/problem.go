// SPDX-License-Identifier: Apache-2.0

package overview

import (
	"cmp"
	"slices"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
)

// Level is how bad a problem is.
type Level int

// The levels.
const (
	OK      Level = iota
	Note          // worth knowing, and no fault
	Warning       // something works worse than it could
	Error         // something does not work
)

// String returns the level as it is shown.
func (l Level) String() string { return [...]string{"ok", "note", "warning", "error"}[l] }

// MarshalText implements encoding.TextMarshaler.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Problem is something that is wrong on a bus, as one instance says, or as the directory does.
// Each tool that judges a bus asks [Overview.Problems], so that no two of them disagree.
type Problem struct {
	Level   Level
	ID      string // stable: docs/reference.md has them all
	Culprit End    // what to look at; without instance: the directory
	Witness End    // which says so; zero: this program has seen it

	Count       uint64      // how many messages, peers or times it is about; 0: that has no number
	Of          uint64      // of how many; 0: that has no sense
	InAll       bool        // Count is of all time: how many of them are of now is not known
	Cause       state.Cause // of messages that are lost
	First, Last time.Time   // when it was; zero: not known, or it lasts
	At          time.Time   // when the witness has said so, by the same clock; zero: it is ours
	Why         string      // in the words of the witness; may be empty
}

// The ids of problems.
const (
	PeerStalled      = "peer-stalled"
	QueueFull        = "queue-full"
	PeerQuiet        = "peer-quiet"
	PeerGone         = "peer-gone"
	PeerCutOff       = "peer-cut-off"
	TagsDenied       = "tags-denied"
	Resending        = "retransmissions"
	SilentPeers      = "silent-peers"
	Losing           = "losing"
	LostBefore       = "lost-before"
	Unconfirmed      = "unconfirmed"
	ConnectionsBreak = "connections-break"
	Refusing         = "refusing"
	PoolEmpty        = "pool-empty"
	PoolWasEmpty     = "pool-was-empty"
	EntryFailing     = "entry-failing"
	EntryCrowded     = "entry-crowded"
	AccessFailing    = "access-failing"
	NoAnswer         = "no-answer"
	NotAllowed       = "not-allowed"
	NotObservable    = "not-observable"
	StaleEntry       = "stale-entry"
	FolderFull       = "folder-full"
	DirectoryProblem = "directory-problem"
	DirectoryAway    = "directory-unreachable"
)

// Problems returns what is wrong, in the order of the entries.
func (o *Overview) Problems() []Problem {
	j := judgement{at: o.Time}
	if o.Problem != nil {
		p := Problem{Level: Warning, ID: DirectoryProblem, Why: o.Problem.Error()}
		if len(o.Rows) == 0 {
			p.Level, p.ID = Error, DirectoryAway
		}
		j.all = append(j.all, p)
	}
	if o.Full {
		j.all = append(j.all, Problem{Level: Error, ID: FolderFull})
	}
	for i := range o.Dead {
		d := &o.Dead[i]
		j.all = append(j.all, Problem{Level: Warning, ID: StaleEntry, Culprit: EndOf(&d.Entry), First: d.Since, Why: d.Why})
	}
	for i := range o.Rows {
		if r := &o.Rows[i]; r.State == nil {
			j.silent(r)
		} else {
			j.row(r)
		}
	}
	return j.all
}

// EndOf returns the instance of an entry.
func EndOf(e *directory.Entry) End {
	return End{Instance: e.Instance, Name: e.Name, Host: e.Host, PID: e.PID}
}

// Group is a problem with one culprit, as all its witnesses say.
type Group struct {
	Problem             // the first of them: Level is that of the worst, and First and Last span all
	Witnesses []End     // which say so, each once
	Problems  []Problem // all of them

	own, others uint64 // Count, as the culprit says of itself, and as all others say
}

// Groups puts together what has one cause and one culprit. The worst come first, by their level
// and their kind, and of one kind what most say.
func Groups(all []Problem) []Group {
	type key struct {
		id, culprit, cause string
	}
	places := make(map[key]int)
	var groups []Group
	for _, p := range all {
		k := key{p.ID, cmp.Or(p.Culprit.Instance, p.Culprit.Host+"\x00"+p.Culprit.Name), string(p.Cause)}
		at, known := places[k]
		if !known {
			at = len(groups)
			places[k] = at
			groups = append(groups, Group{Problem: p})
		}
		groups[at].join(&p)
		g := &groups[at]
		g.Problems = append(g.Problems, p)
		if p.Witness != (End{}) && !slices.Contains(g.Witnesses, p.Witness) {
			g.Witnesses = append(g.Witnesses, p.Witness)
		}
	}
	slices.SortStableFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Level, a.Level), cmp.Compare(Rank(a.ID), Rank(b.ID)), cmp.Compare(len(b.Witnesses), len(a.Witnesses)), cmp.Compare(b.Count, a.Count))
	})
	return groups
}

// join adds what a witness says. What a culprit says of itself, others say in part, too.
func (g *Group) join(p *Problem) {
	g.Level = max(g.Level, p.Level)
	g.Why = cmp.Or(g.Why, p.Why)
	if p.InAll && !g.InAll {
		return // it is of another time than what is of now
	}
	if g.InAll && !p.InAll {
		g.InAll, g.own, g.others, g.First, g.Last, g.At = false, 0, 0, p.First, p.Last, p.At
	}
	if p.Witness == p.Culprit {
		g.own += p.Count
	} else {
		g.others += p.Count
	}
	g.Count = max(g.own, g.others)
	if len(g.Problems) > 0 {
		g.Of += p.Of
	}
	if !p.First.IsZero() && (g.First.IsZero() || p.First.Before(g.First)) {
		g.First, g.At = p.First, p.At
	}
	if p.Last.After(g.Last) {
		g.Last = p.Last
	}
}

// Worst returns the level of the worst of some problems; OK of none.
func Worst(all []Problem) (worst Level) {
	for i := range all {
		worst = max(worst, all[i].Level)
	}
	return worst
}
