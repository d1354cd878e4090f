package bus

import (
	"tagbus/tags"
)

// solo is how a stream decides, message by message, what its only lane gets:
// with the policies Latest and Sample. Its pages carry positions, from which
// the subscriber sees what it did not get. Guarded by stream.mu.
type solo struct {
	stream *stream
	lane   *lane
	seen   map[tags.Tag]uint64 // Sample: messages of a tag
	newest map[tags.Tag]*kept  // Latest: what waits
	order  ring[tags.Tag]      // Latest: of newest, the longest waiting first
	bytes  int                 // Latest: of newest
	spare  []*kept             // Latest: for those to come
}

// kept is a message that waits, copied, and may be replaced by a newer one.
type kept struct {
	status   Status
	position uint64
	data     []byte
}

func newSolo(s *stream, n *lane) *solo {
	o := &solo{stream: s, lane: n}
	if n.policy.Kind == Sample {
		o.seen = make(map[tags.Tag]uint64)
	} else {
		o.newest = make(map[tags.Tag]*kept)
	}
	return o
}

// take decides about a message, which the publisher has accepted.
func (o *solo) take(tag tags.Tag, status Status, position uint64, data []byte) {
	if o.seen != nil {
		n := o.seen[tag]
		o.seen[tag] = n + 1
		if n%o.lane.policy.Every == 0 {
			o.write(tag, status, position, data)
		}
		return
	}
	o.keep(tag, status, position, data)
}

// write puts a message into the page under construction, or a new one. A lane
// that has no room for one does not get the message.
func (o *solo) write(tag tags.Tag, status Status, position uint64, data []byte) {
	s := o.stream
	if s.page != nil && !s.writer.fits(len(data)) {
		s.sealPage()
	}
	if s.page == nil && !s.pub.openSolo(s.pub.pageSize(len(data)+positionBytes), s) {
		return
	}
	s.fill(tag, status, position, data)
}

// keep remembers a message in the place of the one of its tag that waits.
func (o *solo) keep(tag tags.Tag, status Status, position uint64, data []byte) {
	k := o.newest[tag]
	if k == nil {
		if o.bytes+len(data)+keptCost > o.limit() {
			return
		}
		k = o.blank()
		o.newest[tag] = k
		o.bytes += keptCost
		o.order.push(tag)
		if o.order.len() == 1 {
			o.stream.pub.armFlush()
		}
	} else if o.bytes-len(k.data)+len(data) > o.limit() {
		return // the older one is better than none
	}
	o.bytes += len(data) - len(k.data)
	k.status, k.position, k.data = status, position, append(k.data[:0], data...)
}

// blank returns a kept without content, whose memory may have been used before.
func (o *solo) blank() *kept {
	last := len(o.spare) - 1
	if last < 0 {
		return &kept{}
	}
	k := o.spare[last]
	o.spare = o.spare[:last]
	k.data = k.data[:0]
	return k
}

// keptCost is what a message that waits counts beyond its payload.
const keptCost = 128

func (o *solo) limit() int { return int(o.lane.limit) * o.stream.pub.pageBytes }

// forget drops what is known of a tag.
func (o *solo) forget(tag tags.Tag) {
	delete(o.seen, tag)
	if k := o.newest[tag]; k != nil {
		o.bytes -= len(k.data) + keptCost
		delete(o.newest, tag) // order still has it, and drain passes over it
	}
}

// drain writes all that waits into pages.
func (o *solo) drain() {
	for o.order.len() > 0 {
		tag := o.order.pop()
		if k := o.newest[tag]; k != nil {
			o.write(tag, k.status, k.position, k.data)
			delete(o.newest, tag)
			o.spare = append(o.spare, k)
		}
	}
	o.bytes = 0
}

// flush sends what waits unless the lane is busy: then it may still be replaced
// by something newer. It tells whether something remains.
func (o *solo) flush() (open bool) {
	s := o.stream
	if o.order.len() == 0 && s.page == nil {
		return false
	}
	if o.lane.busy() {
		return true
	}
	s.seal()
	return false
}
