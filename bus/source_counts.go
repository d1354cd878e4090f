package bus

import (
	"tagbus/bus/internal/positions"
	"tagbus/subscription"
	"tagbus/tags"
)

// reaches reports whether a tag can be at a position, and otherwise ends the
// connection.
func (src *source) reaches(tag tags.Tag, position uint64) bool {
	if position > positions.Max {
		src.fail(protocolError("tag %v is at %d, limit %d", tag, position, uint64(positions.Max)))
		return false
	}
	return true
}

// loses reports whether n more messages of a tag can be lost, and otherwise ends
// the connection.
func (src *source) loses(tag tags.Tag, n uint64) bool {
	if n > positions.Max-min(src.lostSum, positions.Max) {
		src.fail(protocolError("the publisher has lost %d messages of tag %v after %d of all, limit %d", n, tag, src.lostSum, uint64(positions.Max)))
		return false
	}
	src.lostSum += n
	return true
}

// addLost counts messages of all publishers, of which there may be very many.
func (c *subscriberCounters) addLost(cause subscription.Cause, n uint64) {
	const most = 1 << 60
	c.lost[cause].Add(min(n, most-min(c.lost[cause].Load(), most)))
}
