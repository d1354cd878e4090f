// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"maps"
	"slices"

	"tagbus/subscription"
	"tagbus/tags"
)

// Notice is lost messages by tag and cause, at one place among the pages of a lane. All
// causes are in one notice, so that there are no more notices than pages, however the
// causes change. The zero value is empty.
type Notice struct {
	counts map[tags.Tag]Counts
}

// Tags returns the number of tags with losses.
func (n *Notice) Tags() int { return len(n.counts) }

// Add adds lost messages of a tag.
func (n *Notice) Add(cause subscription.Cause, tag tags.Tag, messages uint64) {
	if n.counts == nil {
		n.counts = make(map[tags.Tag]Counts)
	}
	counts := n.counts[tag]
	counts[cause] += messages
	n.counts[tag] = counts
}

// Merge adds the losses of other.
func (n *Notice) Merge(other *Notice) {
	for tag, counts := range other.counts {
		n.addAll(tag, &counts)
	}
}

func (n *Notice) addAll(tag tags.Tag, counts *Counts) {
	for cause, messages := range counts[:subscription.Causes] {
		if messages > 0 {
			n.Add(subscription.Cause(cause), tag, messages)
		}
	}
}

// Take takes out the counts of at most so many tags.
func (n *Notice) Take(most int) Notice {
	if len(n.counts) <= most {
		part := *n
		n.counts = nil
		return part
	}
	part := Notice{counts: make(map[tags.Tag]Counts, most)}
	for tag, counts := range n.counts {
		if len(part.counts) == most {
			break
		}
		part.counts[tag] = counts
		delete(n.counts, tag)
	}
	return part
}

// Lists calls f for each cause on the wire with losses. The list has the number of lost
// messages of each tag, ascending by tag.
func (n *Notice) Lists(f func(subscription.Cause, []subscription.Position)) {
	sorted := slices.Sorted(maps.Keys(n.counts))
	for cause := subscription.Cause(1); cause < subscription.Causes; cause++ {
		var list []subscription.Position
		for _, tag := range sorted {
			if messages := n.counts[tag][cause]; messages > 0 {
				list = append(list, subscription.Position{Tag: tag, Count: messages})
			}
		}
		if len(list) > 0 {
			f(cause, list)
		}
	}
}
