// SPDX-License-Identifier: Apache-2.0

//go:build linux

package losses

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/units"
	"tagbus/tags"
)

const (
	// maxSilent is how many of those that did not answer are named.
	maxSilent = 20

	// maxCut is how many are named whose connections have ended.
	maxCut = 5

	// maxPeers is how many peers all instances together tell of, if more than a few have
	// lost messages. What others have lost is then in a row without peer.
	maxPeers = 1 << 17

	// tagPeers is how many peers of an instance name the tags of which they have lost
	// messages: so many that each may name MaxLostTags.
	tagPeers = 512
)

// ask looks at the bus: at all instances for what they have lost as a whole, and at those
// that have lost messages for the rest.
func (r *reporter) ask(ctx context.Context, w *overview.Watcher) (f found, err error) {
	o := w.Look(ctx, nil, state.Question{}, r.env.Timeout)
	if problem := directory.Incomplete(o.Problem); problem != nil && len(o.Rows) == 0 {
		return f, r.env.Problem(problem)
	}
	f.noteDirectory(o)
	f.noteDead(o)
	all, silent, unanswered := len(o.Rows), f.noteSilent(o, 0), tool.Unanswered(o, nil)
	lossy := make(map[string]bool)
	for i := range o.Rows {
		if s := o.Rows[i].State; s != nil && (state.Lost(s.Losses) > 0 || s.Sending != nil && (s.Sending.Unconfirmed > 0 || s.Broken > 0)) {
			lossy[o.Rows[i].Entry.Instance] = true
		}
	}
	if len(lossy) > 0 {
		keep := func(e *directory.Entry) bool { return lossy[e.Instance] }
		more := w.Look(ctx, keep, r.question(len(lossy)), r.env.Timeout)
		if unanswered == nil {
			f.noteDirectory(more)
		}
		silent = f.noteSilent(more, silent)
		unanswered = errors.Join(unanswered, tool.Unanswered(more, nil))
		more.Rows = answered(more.Rows, slices.DeleteFunc(o.Rows, func(row overview.Row) bool { return !lossy[row.Entry.Instance] }))
		r.take(&f, more)
		f.noteCutOff(more)
	}
	if silent > maxSilent {
		f.note("nor could %s", units.FormatNumber(silent-maxSilent, "other"))
	}
	f.unanswered = unanswered
	switch dead := len(o.Dead); {
	case all == 0 && dead > 0:
		f.where = fmt.Sprintf("%s has no program that lives, and of what has gone without a word nothing is known", r.env.Bus)
		return f, nil
	case all == 0:
		f.where = fmt.Sprintf("%s is empty: start a publisher, or a receiver, with the same --bus", r.env.Bus)
		return f, nil
	}
	f.where = fmt.Sprintf("%d of %s in %s asked", all-silent, units.FormatNumber(all, "entry"), r.env.Bus)
	return f, nil
}

// answered returns the rows of a look that have answers, and of those that have none, or are not listed any more, those of
// the look before: what was lost does not come back when the publisher ends.
func answered(now, before []overview.Row) []overview.Row {
	now = slices.DeleteFunc(now, func(row overview.Row) bool { return row.State == nil })
	known := make(map[string]bool, len(now))
	for i := range now {
		known[now[i].Entry.Instance] = true
	}
	for _, row := range before {
		if !known[row.Entry.Instance] {
			now = append(now, row)
		}
	}
	return now
}

// noteDirectory notes that a look may lack programs.
func (f *found) noteDirectory(o overview.Overview) {
	if problem := directory.Incomplete(o.Problem); problem != nil {
		f.note("the directory is not read whole: %s", cli.Text(problem))
	}
}

// question returns what so many instances are asked.
func (r *reporter) question(instances int) state.Question {
	q := state.Question{Peers: min(state.MaxPeers, maxPeers/instances+1)}
	if r.perTag() {
		q.Peers, q.LostTags, q.Tags = min(q.Peers, tagPeers), state.MaxLostTags, r.Tags
		if r.Tags.IsEmpty() {
			q.Tags = tags.Everything()
		}
	}
	return q
}

// take takes the losses of answers.
func (r *reporter) take(f *found, o overview.Overview) {
	for i := range o.Rows {
		row := &o.Rows[i]
		if row.State == nil {
			continue
		}
		f.rows = append(f.rows, r.rowsOf(row.State)...)
		if s := row.State.Sending; r.perTag() && s != nil && s.Unconfirmed > 0 {
			f.note("%s has %s unconfirmed, of tags that are not known", overview.Label(row.Entry.Name, row.Entry.Instance), units.FormatNumber(s.Unconfirmed, "message"))
		}
		if len(row.State.Asked) == state.MaxTags && row.State.KnownTags > state.MaxTags {
			f.note("%s has %s, of which %d were looked at: name some", overview.Label(row.Entry.Name, row.Entry.Instance), units.FormatNumber(row.State.KnownTags, "tag"), state.MaxTags)
		}
	}
}

// noteDead notes the programs that have gone without a word: no count has what they held.
func (f *found) noteDead(o overview.Overview) {
	for _, line := range tool.DeadLines(o, nil) {
		f.note("%s; no count has what it held", line)
	}
}

// noteCutOff notes the peers whose connections end again and again: each costs messages, which
// are in no count before the peer has said what it has.
func (f *found) noteCutOff(o overview.Overview) {
	var cut []overview.Problem
	for _, p := range o.Problems() {
		if p.ID == overview.PeerCutOff {
			cut = append(cut, p)
		}
	}
	groups := overview.Groups(cut)
	for i, g := range groups {
		if i == maxCut {
			f.note("nor did the connections of %s last", units.FormatNumber(len(groups)-maxCut, "other"))
			return
		}
		f.note("%s: %s", g.Culprit.Called(), cli.Words(g.Text()))
	}
}

// noteSilent notes which entries did not answer.
//
//   - before: how many did not before.
//   - Result: how many it are with those.
func (f *found) noteSilent(o overview.Overview, before int) (silent int) {
	silent = before
	for i := range o.Rows {
		row := &o.Rows[i]
		if row.State != nil {
			continue
		}
		if silent++; silent <= maxSilent {
			f.note("%s on %s could not be asked: %s", overview.Label(row.Entry.Name, row.Entry.Instance), row.Entry.Host, cli.Text(row.Err))
		}
	}
	return silent
}
