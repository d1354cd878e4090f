// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"slices"
	"sync"
	"time"

	"tagbus/bus"
	"tagbus/internal/sanitize"
)

// maxIdle is how many sets of labels stay that no peer has any more: four times the
// peers that a publisher remembers. Strangers may choose any name.
const maxIdle = 1024

// peers adds up what the peers with one name and host did, whichever of them are still
// there. A peer has a new instance and address with each run, and series with these
// labels would begin again and pile up. The zero value is not ready: see newPeers.
type peers struct {
	mu    sync.Mutex // around each look, so that the numbers come in order
	known map[string]*known
	all   table[peerLabels, peerSums]
	lanes table[laneLabels, laneSums]

	backends backendCounts
}

func newPeers() *peers {
	p := &peers{known: make(map[string]*known), backends: make(backendCounts)}
	p.all.most, p.lanes.most = maxIdle, maxIdle
	return p
}

// maxLanes bounds what is known of an instance. A bus remembers 16 lanes of it: those of
// the connection, and of others the newest.
const maxLanes = 32

type peerLabels struct{ name, host string }

type laneLabels struct {
	peerLabels
	policy string
}

// sent is what was sent to a peer on a connection.
type sent struct {
	messages, bytes, pages uint64

	segments, retransmitted uint64 // as the system has measured them
}

// known is what the last look has seen of one instance.
type known struct {
	look        uint64
	connections []connection          // also one that is not forgotten yet when the next is there
	losses      map[uint64]bus.Losses // by lane
}

// connection is what the last look has seen of one.
type connection struct {
	look  uint64
	since time.Time
	sent  sent
}

// peerSums is what the peers with one name and host did. The gauges are of those that
// are connected.
type peerSums struct {
	sent

	measured  bool // the segments were, at some time
	connected int
	free      int // sends, of the peer with the fewest
	minFree   int
}

// laneSums is what became of the subscriptions with one policy of peers with one name
// and host. The gauges are of those that are connected.
type laneSums struct {
	losses bus.Losses

	queued, limit int // of the fullest lane
	unconfirmed   uint64
}

// see makes a look: it takes the states of all peers. mu is held.
func (p *peers) see(connected, gone []bus.SubscriberState) {
	p.all.begin()
	p.lanes.begin()
	p.backends.see(connected)
	for i := range connected {
		p.add(&connected[i], true)
	}
	for i := range gone {
		p.add(&gone[i], false)
	}
	p.all.trim()
	p.lanes.trim()
	for instance, k := range p.known {
		if k.look != p.all.look { // the bus has forgotten it, too
			delete(p.known, instance)
		}
		k.connections = slices.DeleteFunc(k.connections, func(c connection) bool { return c.look != p.all.look })
	}
}

func (p *peers) add(s *bus.SubscriberState, connected bool) {
	k := p.known[s.Peer.Instance]
	if k == nil {
		k = &known{losses: make(map[uint64]bus.Losses)}
		p.known[s.Peer.Instance] = k
	}
	k.look = p.all.look
	labels := peerLabels{text(s.Peer.Name), text(s.Peer.Host)}
	if more := k.sentSince(s); connected || more != (sent{}) {
		row := p.all.row(labels)
		row.value.add(more)
		if connected {
			row.value.connect(s, p.all.use(row))
		}
	}
	for _, lane := range byPolicy(k.lostSince(s.Lanes)) {
		if !connected && lane.Losses == (bus.Losses{}) {
			continue
		}
		row := p.lanes.row(laneLabels{labels, lane.Policy.String()})
		addLosses(&row.value.losses, &lane.Losses)
		if connected {
			row.value.connect(&lane, p.lanes.use(row))
		}
	}
}

// sentSince returns what was sent since the last look. With each connection the numbers
// of the bus begin at 0.
func (k *known) sentSince(s *bus.SubscriberState) sent {
	i := slices.IndexFunc(k.connections, func(c connection) bool { return c.since.Equal(s.Since) })
	if i < 0 {
		i = len(k.connections)
		k.connections = append(k.connections, connection{since: s.Since})
	}
	c := &k.connections[i]
	before := c.sent
	now := sent{s.Messages, s.Bytes, s.Pages, before.segments, before.retransmitted}
	if s.Path != nil { // nothing is measured of a connection that has ended
		now.segments, now.retransmitted = s.Path.Segments, s.Path.Retransmitted
	}
	c.look, c.sent = k.look, now
	return sent{
		now.messages - before.messages, now.bytes - before.bytes, now.pages - before.pages,
		uint64(uint32(now.segments - before.segments)), uint64(uint32(now.retransmitted - before.retransmitted)), // systems count to 2^32
	}
}

// lostSince returns the lanes with what they have lost since the last look.
func (k *known) lostSince(lanes []bus.LaneState) []bus.LaneState {
	lanes = slices.Clone(lanes)
	for i := range lanes {
		lane := &lanes[i]
		total := lane.Losses
		lane.Losses = since(k.losses[lane.ID], total)
		k.losses[lane.ID] = total
	}
	for len(k.losses) > maxLanes {
		oldest, found := uint64(0), false
		for id := range k.losses {
			here := slices.ContainsFunc(lanes, func(l bus.LaneState) bool { return l.ID == id })
			if !here && (!found || id < oldest) {
				oldest, found = id, true
			}
		}
		if !found {
			break
		}
		delete(k.losses, oldest)
	}
	return lanes
}

func (s *sent) add(more sent) {
	s.messages += more.messages
	s.bytes += more.bytes
	s.pages += more.pages
	s.segments += more.segments
	s.retransmitted += more.retransmitted
}

// connect adds a connected peer to the gauges, or begins them with it.
func (p *peerSums) connect(s *bus.SubscriberState, first bool) {
	if first {
		p.connected, p.free, p.minFree = 0, s.SendsFree, s.MinSendsFree
	}
	p.connected++
	p.measured = p.measured || s.Path != nil
	p.free, p.minFree = min(p.free, s.SendsFree), min(p.minFree, s.MinSendsFree)
}

// connect adds a lane of a connected peer to the gauges, or begins them with it.
func (l *laneSums) connect(lane *bus.LaneState, first bool) {
	if first {
		l.queued, l.limit, l.unconfirmed = lane.Queued, lane.Limit, 0
	}
	l.unconfirmed += lane.Unconfirmed
	if float64(lane.Queued)*float64(l.limit) > float64(l.queued)*float64(lane.Limit) {
		l.queued, l.limit = lane.Queued, lane.Limit
	}
}

// since returns the losses of a lane after those that were known.
func since(before, now bus.Losses) bus.Losses {
	return bus.Losses{
		Full: now.Full - before.Full, Memory: now.Memory - before.Memory,
		Connection: now.Connection - before.Connection, LeftOut: now.LeftOut - before.LeftOut,
	}
}

func addLosses(sum, more *bus.Losses) {
	sum.Full += more.Full
	sum.Memory += more.Memory
	sum.Connection += more.Connection
	sum.LeftOut += more.LeftOut
}

// byPolicy adds up the lanes of a peer that differ in their backlog only: their labels
// are the same. The queue is that of the fullest. lanes are sorted by policy.
func byPolicy(lanes []bus.LaneState) (sums []bus.LaneState) {
	for _, lane := range lanes {
		last := len(sums) - 1
		if last < 0 || sums[last].Policy != lane.Policy {
			sums = append(sums, lane)
			continue
		}
		sum := &sums[last]
		if float64(lane.Queued)*float64(sum.Limit) > float64(sum.Queued)*float64(lane.Limit) {
			sum.Queued, sum.Limit = lane.Queued, lane.Limit
		}
		sum.Unconfirmed += lane.Unconfirmed
		addLosses(&sum.Losses, &lane.Losses)
	}
	return sums
}

// text makes what a peer says about itself a label, safe to show: other bytes than
// UTF-8 would spoil the whole scrape, and a page of metrics is looked at on a terminal.
func text(s string) string { return sanitize.Line(s) }
