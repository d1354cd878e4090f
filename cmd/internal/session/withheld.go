// SPDX-License-Identifier: Apache-2.0

package session

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tagbus/bus"
	"tagbus/cmd/internal/units"
	"tagbus/tags"
)

// withheld follows which tags a policy has taken and given back. What was published meanwhile is neither delivered
// nor lost, so nothing else tells of it.
type withheld struct {
	of map[string]*holes // by instance, of the first maxDenied
}

// holes are those of a publisher.
type holes struct {
	has   tags.Set // acknowledged; all if that has more than maxDeniedParts
	taken tags.Set // of these, and not given back
	back  denial   // what was given back, with the reason why it was taken
}

// granted takes the tags of a subscription that a publisher has acknowledged.
func (w *withheld) granted(instance string, set tags.Set) {
	h := w.of[instance]
	if h == nil {
		if len(w.of) >= maxDenied {
			return
		}
		if w.of == nil {
			w.of = make(map[string]*holes)
		}
		h = new(holes)
		w.of[instance] = h
	}
	if back, err := h.taken.Intersection(set); err == nil && !back.IsEmpty() {
		h.back.tags = first(h.back.tags.Union(back), maxDeniedParts)
		if rest, err := h.taken.Without(back); err == nil {
			h.taken = rest
		}
	}
	if h.has = h.has.Union(set); h.has.Parts() > maxDeniedParts {
		h.has = tags.Everything()
	}
}

// see takes a Refused event.
func (w *withheld) see(e bus.Event) {
	h := w.of[e.Peer.Instance]
	if h == nil || !errors.Is(e.Err, bus.ErrNotAllowed) {
		return
	}
	taken := h.has
	if both, err := e.Tags.Intersection(h.has); err == nil && !e.Tags.IsEmpty() {
		taken = both
	}
	if taken.IsEmpty() {
		return
	}
	h.back.peer, h.back.reason, h.back.rule = e.Peer.String(), reasonOf(e.Err), true
	h.taken = first(h.taken.Union(taken), maxDeniedParts)
}

// WithheldOf returns the tags of a publisher, the first ones, that a policy has taken and given back.
func (p *Presence) WithheldOf(instance string) tags.Set {
	if h := p.withheld.of[instance]; h != nil {
		return h.back.tags
	}
	return tags.Set{}
}

// Withheld returns an error that names the publishers of which a policy has taken tags and given them back, or nil.
//
//   - role: what they are: "publisher".
func (p *Presence) Withheld(role string) error {
	var names []string
	for _, id := range slices.Sorted(maps.Keys(p.withheld.of)) {
		if h := p.withheld.of[id]; !h.back.tags.IsEmpty() {
			names = append(names, h.back.String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	n := uint64(len(names))
	text := strings.Join(names[:min(n, maxDenials)], "; ")
	if n > maxDenials {
		text += fmt.Sprintf("; and %s", units.FormatNumber(n-maxDenials, "other"))
	}
	return fmt.Errorf("a policy has kept back tags for a time, and what was published meanwhile is missing: %s: %s", units.FormatNumber(n, role), text)
}
