// SPDX-License-Identifier: Apache-2.0

package rec

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"tagbus/internal/sanitize"
	"tagbus/recording"
	"tagbus/tags"
)

// present is a publisher that is there when a cut begins.
type present struct {
	order        int // in which they have joined
	joined, lost *recording.Event
	tags         unions
}

// writePresence writes which publishers were there when the cut begins.
func (k *cutter) writePresence(ctx context.Context) error {
	there := make(map[string]*present)
	q := k.q
	q.From, q.To, q.EventsOnly = time.Time{}, k.q.From, true
	order, parts := 0, 0
	err := each(ctx, k.rs, q, k.damage, func(r recording.Record) error {
		e := r.Event
		if e.Peer == nil {
			return nil
		}
		p := there[e.Peer.Instance]
		e.Text = sanitize.Cut(e.Text, mostTextBytes) // it may be kept
		switch e.Kind {
		case recording.Joined:
			if p == nil {
				order++
				p = &present{order: order}
				there[e.Peer.Instance] = p
			}
			if p.lost != nil {
				parts -= p.tags.parts
				p.tags = unions{}
			}
			before := p.tags.parts
			p.tags.add(e.Tags)
			if parts += p.tags.parts - before; parts > maxHoles {
				return errEventTags
			}
			e.Tags = tags.Set{}
			p.joined, p.lost = e, nil
		case recording.Lost:
			if p != nil {
				e.Tags = tags.Set{} // of a hostile file
				p.lost = e
			}
		case recording.Ended, recording.Vanished:
			if p != nil {
				parts -= p.tags.parts
			}
			delete(there, e.Peer.Instance)
		default:
		}
		return nil
	})
	return errors.Join(err, k.recordPresent(slices.Collect(maps.Values(there))))
}

// recordPresent writes the events of publishers, in the order in which they have joined.
func (k *cutter) recordPresent(all []*present) (err error) {
	slices.SortFunc(all, func(a, b *present) int { return cmp.Compare(a.order, b.order) })
	for _, p := range all {
		p.joined.Tags = p.tags.all()
		k.before[p.joined.Peer.Instance] = p.joined.Tags
		for _, event := range []*recording.Event{p.joined, p.lost} {
			if event == nil {
				continue
			}
			event.Time = k.q.From
			err = errors.Join(err, k.record(recording.Record{Event: event}))
		}
	}
	return err
}

// unions is the union of many sets, each of which is copied only some times: those of about
// the same size are joined first.
type unions struct {
	sets  []tags.Set // the later ones are smaller
	parts int        // of all
}

// add adds a set.
func (u *unions) add(s tags.Set) {
	u.parts += s.Parts()
	for last := len(u.sets) - 1; last >= 0 && u.sets[last].Parts() <= 2*s.Parts(); last-- {
		u.parts -= u.sets[last].Parts() + s.Parts()
		s = u.sets[last].Union(s)
		u.parts += s.Parts()
		u.sets = u.sets[:last]
	}
	u.sets = append(u.sets, s)
}

// all returns the union.
func (u *unions) all() (s tags.Set) {
	for _, o := range slices.Backward(u.sets) {
		s = s.Union(o)
	}
	return s
}
