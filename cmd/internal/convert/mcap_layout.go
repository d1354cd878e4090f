// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"tagbus/bus"
	"tagbus/internal/payload"
	"tagbus/recording"
)

// layout says how many channels there will be.
type layout struct {
	perTag   bool
	channels int
}

// layoutOf returns how the messages that a query selects are spread over channels.
//
//   - Errors: ErrPublishers.
func layoutOf(series []recording.Series, q recording.Query, payloads payload.Set) (layout, error) {
	var n numbers
	count := 0
	for _, s := range series {
		if !q.Tags.IsEmpty() && !q.Tags.Contains(s.Tag) || !selects(q.Publisher, s.Publisher) {
			continue
		}
		if count++; payloads.Of(s.Tag) != nil {
			count++ // for those that are too short
		}
		n.of(s.Publisher)
	}
	if count <= mostSeries {
		return layout{true, count}, nil
	}
	if len(n.byValue) > mostSeries {
		return layout{}, ErrPublishers
	}
	return layout{false, len(n.byValue)}, nil
}

// selects reports whether a query for a publisher selects this one.
func selects(name string, p *bus.Peer) bool {
	return name == "" || p != nil && (p.Name == name || p.Instance == name)
}
