// SPDX-License-Identifier: Apache-2.0

package group

import (
	"errors"
	"fmt"

	"tagbus/bus/internal/tagset"
	"tagbus/subscription"
	"tagbus/tags"
)

// maxPart is how many bytes of a set one message has. The rest of it takes less than 128.
const maxPart = subscription.MaxControlBytes - 128

// Parts returns the messages that ask for a set.
//
//   - m: what they have in common. Its WithNext is that of the last one.
//   - Errors: those of tags.Set.MarshalBinary.
func Parts(m subscription.Subscribe, set tags.Set) (parts []*subscription.Subscribe, err error) {
	err = cut(set, func(piece []byte, more bool) {
		part := m
		part.Set, part.More, part.WithNext = piece, more, m.WithNext && !more
		parts = append(parts, &part)
	})
	return parts, err
}

// RightsParts returns the messages that say which tags a subscriber may have. Of a set that is
// too large it is told of those that are served, and if need be of all: others are refused when
// it asks.
//
// Errors: those of tags.Set.MarshalBinary.
func RightsParts(set, served tags.Set) (parts []*subscription.Rights, err error) {
	if !tagset.Fits(set) {
		both, err := set.Intersection(served)
		if set = both; err != nil || !tagset.Fits(set) {
			set = tags.Everything()
		}
	}
	err = cut(set, func(piece []byte, more bool) {
		parts = append(parts, &subscription.Rights{Set: piece, More: more})
	})
	return parts, err
}

// cut cuts the bytes of a set into those of messages.
func cut(set tags.Set, message func(piece []byte, more bool)) error {
	left, err := set.MarshalBinary()
	for more := true; more && err == nil; {
		n := min(len(left), maxPart)
		more = n < len(left)
		message(left[:n], more)
		left = left[n:]
	}
	return err
}

// Rights puts together what a subscriber may have. Its zero value is ready.
type Rights struct{ part []byte }

// Add takes a message, and returns the set if it was the last one.
//
// Errors: a set that is damaged, or larger than that of a subscription may be.
func (r *Rights) Add(m *subscription.Rights) (set tags.Set, complete bool, err error) {
	r.part = append(r.part, m.Set...)
	if len(r.part) > maxSetBytes(subscription.MaxParts) {
		return tags.Set{}, false, fmt.Errorf("%w: rights of %d bytes", subscription.ErrTooManyTags, len(r.part))
	}
	if m.More {
		return tags.Set{}, false, nil
	}
	err = set.UnmarshalLimited(r.part, subscription.MaxParts, subscription.MaxMasks)
	r.part = nil
	return set, err == nil, err
}

// maxSetBytes returns the largest size of a set that is not refused.
//
//   - ranges: that it has, as its head says.
func maxSetBytes(ranges int) int {
	const head, perPart = 21, 20 // see tags.ClaimedRanges
	return head + perPart*(ranges+subscription.MaxMasks)
}

// add takes a part of a set, unless the set is to be refused. The head of a set shows
// whether it has too many ranges, its length whether it has too many masks.
//
//   - bytes: how much of it is kept.
func (in *incoming[C]) add(part []byte) (bytes int, err error) {
	if in.excess != nil {
		return 0, nil
	}
	in.part = append(in.part, part...)
	if in.room == 0 {
		n, ok := tags.ClaimedRanges(in.part)
		switch {
		case ok && n > subscription.MaxParts:
			in.excess = tagset.TooMany(n)
		case ok:
			in.room = maxSetBytes(int(n))
		case len(in.part) >= tags.MaxHeadBytes:
			return 0, errors.New("a set that does not begin as one")
		}
	}
	if in.room > 0 && len(in.part) > in.room {
		in.excess = fmt.Errorf("%w: more than %d masks: subscribe to ranges instead of masks", subscription.ErrTooManyTags, subscription.MaxMasks)
	}
	if in.excess != nil {
		in.part = nil // its cost so far stays counted until the group is complete
		return 0, nil
	}
	return len(part), nil
}

// end decodes a complete set, and adds the subscription to the group, or refuses it.
//
//   - bytes: what the subscription takes more than the parts of its set.
func (in *incoming[C]) end(m *subscription.Subscribe) (bytes int, refused, err error) {
	part, excess := in.part, in.excess
	in.some, in.part, in.room, in.excess = false, nil, 0, nil
	standing, err := in.standing.Take(m)
	if err != nil || excess != nil {
		return 0, excess, err
	}
	m.Set = nil
	s := Subscription{Request: m, Standing: standing}
	err = s.Set.UnmarshalLimited(part, subscription.MaxParts, subscription.MaxMasks)
	switch {
	case errors.Is(err, tags.ErrTooManyParts):
		return 0, fmt.Errorf("%w: %w: subscribe to ranges instead", subscription.ErrTooManyTags, err), nil
	case err != nil:
		return 0, nil, err
	case s.Set.IsEmpty():
		return 0, nil, ErrEmptySet
	}
	in.group = append(in.group, s)
	in.parts += s.Set.Parts()
	in.stands += standing.Count()
	return wishBytes + rangeBytes*s.Set.Parts() - len(part), nil, nil
}

// check bounds a group.
func (in *incoming[C]) check(lanes, known int) error {
	if most := lanes * subscription.MaxParts; len(in.group) > Max || in.parts > most {
		return fmt.Errorf("group of more than %d subscriptions or %d ranges and masks", Max, most)
	}
	if most := lanes * (known + freePositions); in.stands > most {
		return fmt.Errorf("group with %d positions, of %d that there can be", in.stands, most)
	}
	return nil
}

// DeniedOf returns the message that names tags which are wanted and not to be had: those of the
// first ranges, if there are many.
//
// Errors: those of tags.Set.MarshalBinary.
func DeniedOf(set tags.Set) (*subscription.Denied, error) {
	b, err := some(set, subscription.MaxDenied).MarshalBinary()
	return &subscription.Denied{Set: b}, err
}

// some returns the first ranges of a set.
func some(set tags.Set, most int) tags.Set {
	if set.Parts() <= most {
		return set
	}
	var first []tags.Set
	for lo, hi := range set.Ranges() {
		if one, err := tags.Range(lo, hi); err == nil {
			first = append(first, one)
		}
		if len(first) == most {
			break
		}
	}
	return tags.Union(first...)
}

// Denied returns the set of such a message.
//
// Errors: a set that is damaged, or has too many ranges.
func Denied(m *subscription.Denied) (set tags.Set, err error) {
	err = set.UnmarshalLimited(m.Set, subscription.MaxDenied, subscription.MaxDenied)
	return set, err
}
