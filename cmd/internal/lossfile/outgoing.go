// SPDX-License-Identifier: Apache-2.0

package lossfile

import (
	"maps"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/tags"
)

const (
	// maxPeerTags is of how many tags a publisher tells what one subscriber has lost. Of one
	// that has lost messages of more tags it tells the sums.
	maxPeerTags = 1024

	// maxTags bounds the tags of all subscribers.
	maxTags = 1 << 16

	// maxLooked is how many tags are looked at without success: of subscribers that have lost
	// messages of too many. After that, others are not looked at.
	maxLooked = 1 << 20
)

// Outgoing finds what the subscribers of a publisher have lost since it looked last, for
// which there are no events.
//
// Threads: one.
type Outgoing struct {
	writer *Writer
	stats  func() bus.PublisherStats
	byTag  func(instance string) []bus.TagLosses

	peers  map[string]*outgoing // by instance
	tags   int                  // of all peers
	looked int                  // without success
}

// outgoing is what was told of a subscriber.
type outgoing struct {
	lanes  map[string]uint64    // their ids, by policy
	told   map[string]counts    // by policy
	tags   map[policyTag]counts // nil: sums only
	nTags  int                  // at the last look
	stayed bool                 // in this look
}

type policyTag struct {
	policy string
	tag    tags.Tag
}

// counts are those of lost messages, by cause.
type counts map[state.Cause]uint64

// Unconfirmed is the cause of messages that are lost or received: their subscriber has gone without
// saying which. They are written at the end, as until then it may come back.
const Unconfirmed state.Cause = "unconfirmed"

// Causes returns the messages that are lost, by cause.
func Causes(l bus.Losses) map[state.Cause]uint64 {
	return counts{state.Full: l.Full, state.Memory: l.Memory, state.Connection: l.Connection, state.Ended: l.Ended}
}

// droppedCauses returns the messages that a subscriber has received and lost again, by cause.
func droppedCauses(d bus.Dropped) counts {
	return counts{state.Overflow: d.Overflowed, state.Panic: d.Panicked}
}

// Totals returns all that the subscribers of a publisher have lost, or may have, for Close.
func Totals(st bus.PublisherStats) map[state.Cause]uint64 {
	all := Causes(st.Losses)
	maps.Copy(all, droppedCauses(st.Dropped))
	all[Unconfirmed] = st.Unconfirmed
	return all
}

// NewOutgoing returns what tells w the losses of a publisher or sender.
//
//   - stats, byTag: its methods Stats and TagLosses.
func NewOutgoing(w *Writer, stats func() bus.PublisherStats, byTag func(instance string) []bus.TagLosses) *Outgoing {
	return &Outgoing{writer: w, stats: stats, byTag: byTag, peers: make(map[string]*outgoing)}
}

// Look tells what was lost since the last time.
func (o *Outgoing) Look() {
	st := o.stats()
	for _, peers := range [][]bus.SubscriberState{st.Gone, st.Subscribers} {
		for i := range peers {
			o.look(&peers[i])
		}
	}
	for instance, p := range o.peers {
		if !p.stayed {
			o.forget(instance, p)
		}
		p.stayed = false
	}
}

func (o *Outgoing) forget(instance string, p *outgoing) {
	o.tags -= len(p.tags)
	delete(o.peers, instance)
}

func (o *Outgoing) look(s *bus.SubscriberState) {
	p := o.peers[s.Peer.Instance]
	if p != nil && p.restarted(s) {
		o.forget(s.Peer.Instance, p)
		p = nil
	}
	if p == nil {
		p = &outgoing{lanes: make(map[string]uint64), told: make(map[string]counts), tags: make(map[policyTag]counts)}
		o.peers[s.Peer.Instance] = p
	}
	p.stayed = true
	peer := Peer{s.Peer.Instance, s.Peer.Name, s.Peer.Host}
	news := false
	for i := range s.Lanes {
		lane := &s.Lanes[i]
		policy := lane.Policy.String()
		p.lanes[policy] = lane.ID
		if p.told[policy] == nil {
			p.told[policy] = make(counts)
		}
		for cause, n := range Causes(lane.Losses) {
			news = news || n > p.told[policy][cause]
		}
		o.tellDropped(p, peer, policy, lane.Dropped)
	}
	if !news {
		return
	}
	if p.tags != nil {
		o.lookAtTags(p, peer)
	}
	if p.tags == nil {
		o.tellSums(p, peer, s.Lanes)
	}
}

// tellDropped tells what a subscriber says that it has received and lost again. It does not say of
// which tags.
func (o *Outgoing) tellDropped(p *outgoing, peer Peer, policy string, d bus.Dropped) {
	for cause, n := range droppedCauses(d) {
		if told := p.told[policy][cause]; n > told {
			o.writer.AddSum(peer, 0, policy, cause, n-told)
			p.told[policy][cause] = n
		}
	}
}

// AddUnconfirmed adds what is not known of the messages of each subscriber at the end.
func (w *Writer) AddUnconfirmed(st bus.PublisherStats) {
	for _, peers := range [][]bus.SubscriberState{st.Gone, st.Subscribers} {
		for i := range peers {
			s := &peers[i]
			for j := range s.Lanes {
				w.AddSum(Peer{s.Peer.Instance, s.Peer.Name, s.Peer.Host}, 0, s.Lanes[j].Policy.String(), Unconfirmed, s.Lanes[j].Unconfirmed)
			}
		}
	}
}

// restarted reports whether the counts of a subscriber have begun again.
func (p *outgoing) restarted(s *bus.SubscriberState) bool {
	for i := range s.Lanes {
		id, known := p.lanes[s.Lanes[i].Policy.String()]
		if known && id != s.Lanes[i].ID {
			return true
		}
	}
	return false
}

// lookAtTags tells what was lost of each tag, unless there are too many.
func (o *Outgoing) lookAtTags(p *outgoing, peer Peer) {
	var all []bus.TagLosses
	if o.looked < maxLooked {
		all = o.byTag(peer.Instance)
	}
	p.nTags = len(all)
	if o.looked >= maxLooked || len(all) > maxPeerTags || o.tags-len(p.tags)+len(all) > maxTags {
		o.looked += len(all)
		o.tags -= len(p.tags)
		p.tags = nil
		return
	}
	o.tags -= len(p.tags)
	for i := range all {
		at := policyTag{all[i].Policy.String(), all[i].Tag}
		if p.told[at.policy] == nil {
			p.told[at.policy] = make(counts)
		}
		for cause, n := range Causes(all[i].Losses) {
			known := p.tags[at][cause]
			if n <= known {
				continue
			}
			if p.tags[at] == nil {
				p.tags[at] = make(counts)
			}
			o.writer.Add(peer, at.tag, at.policy, cause, n-known)
			p.tags[at][cause] = n
			p.told[at.policy][cause] += n - known
		}
	}
	o.tags += len(p.tags)
}

// tellSums tells what was lost of all tags together.
func (o *Outgoing) tellSums(p *outgoing, peer Peer, lanes []bus.LaneState) {
	for i := range lanes {
		policy := lanes[i].Policy.String()
		for cause, n := range Causes(lanes[i].Losses) {
			if told := p.told[policy][cause]; n > told {
				o.writer.AddSum(peer, p.nTags, policy, cause, n-told)
				p.told[policy][cause] = n
			}
		}
	}
}
