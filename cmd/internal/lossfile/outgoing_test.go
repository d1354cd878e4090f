// SPDX-License-Identifier: Apache-2.0

//go:build linux

package lossfile

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/tags"
)

// crowd is what a publisher knows of its subscribers.
type crowd struct {
	stats bus.PublisherStats
	tags  map[string][]bus.TagLosses
	asked int
}

func (c *crowd) byTag(instance string) []bus.TagLosses {
	c.asked++
	return c.tags[instance]
}

var dropNewest = bus.Policy{Kind: bus.DropNewest}

// lane returns a lane in which so many messages were lost.
func lane(id, full uint64) []bus.LaneState {
	return []bus.LaneState{{ID: id, Policy: dropNewest, Losses: bus.Losses{Full: full, LeftOut: 77}}}
}

func lostTags(full ...uint64) (all []bus.TagLosses) {
	for tag, n := range full {
		all = append(all, bus.TagLosses{Policy: dropNewest, Tag: tags.Tag(tag + 1), Losses: bus.Losses{Full: n, LeftOut: 7}})
	}
	return all
}

// told looks and returns what it adds, as text.
func told(o *Outgoing) (all []string) {
	o.Look()
	for _, l := range o.writer.take() {
		what := fmt.Sprint(l.tag)
		if l.summed {
			what = fmt.Sprintf("%d tags", l.tags)
		}
		all = append(all, fmt.Sprintf("%s %s %s %s %d", l.peer.Instance, what, l.policy, l.cause, l.count))
	}
	return all
}

func expectTold(t *testing.T, o *Outgoing, when string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, told(o)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

func subscriberOf(instance string, lanes []bus.LaneState) bus.SubscriberState {
	return bus.SubscriberState{Peer: bus.Peer{Instance: instance}, Lanes: lanes}
}

func TestOutgoingTellsWhatIsNew(t *testing.T) {
	w, _ := newWriter(&disk{room: -1})
	c := &crowd{tags: make(map[string][]bus.TagLosses)}
	o := NewOutgoing(w, func() bus.PublisherStats { return c.stats }, c.byTag)
	expectTold(t, o, "without subscribers")

	c.stats.Subscribers = []bus.SubscriberState{subscriberOf("S1", lane(1, 0))}
	expectTold(t, o, "without losses")
	if c.asked != 0 {
		t.Errorf("tags were asked for %d times without losses, want 0", c.asked)
	}
	c.stats.Subscribers[0].Lanes, c.tags["S1"] = lane(1, 5), lostTags(3, 2)
	expectTold(t, o, "two tags", "S1 0x0000000000000001 drop-newest full 3", "S1 0x0000000000000002 drop-newest full 2")
	expectTold(t, o, "nothing new")
	if c.asked != 1 {
		t.Errorf("tags were asked for %d times, want 1", c.asked)
	}
	c.stats.Subscribers[0].Lanes, c.tags["S1"] = lane(1, 6), lostTags(3, 4) // the tags were asked for later than the lane
	expectTold(t, o, "a tag more", "S1 0x0000000000000002 drop-newest full 2")
	c.stats.Subscribers[0].Lanes = lane(1, 7)
	expectTold(t, o, "what is told already")

	c.stats.Gone, c.stats.Subscribers = c.stats.Subscribers, nil
	c.stats.Gone[0].Lanes, c.tags["S1"] = lane(1, 9), lostTags(3, 4, 2)
	expectTold(t, o, "after it has gone", "S1 0x0000000000000003 drop-newest full 2")
	c.stats.Gone[0].Lanes, c.tags["S1"] = lane(2, 1), lostTags(1)
	expectTold(t, o, "when its counts begin anew", "S1 0x0000000000000001 drop-newest full 1")
	c.stats.Gone = nil
	expectTold(t, o, "when it is forgotten")
	if len(o.peers) != 0 || o.tags != 0 {
		t.Errorf("got %d peers and %d tags in memory, want none", len(o.peers), o.tags)
	}
}

// TestOutgoingTellsSums of a subscriber that has lost messages of many tags.
func TestOutgoingTellsSums(t *testing.T) {
	w, _ := newWriter(&disk{room: -1})
	many := make([]uint64, maxPeerTags+1)
	for i := range many {
		many[i] = 2
	}
	c := &crowd{tags: map[string][]bus.TagLosses{"S1": lostTags(4)}}
	c.stats.Subscribers = []bus.SubscriberState{subscriberOf("S1", lane(1, 4))}
	o := NewOutgoing(w, func() bus.PublisherStats { return c.stats }, c.byTag)
	expectTold(t, o, "one tag", "S1 0x0000000000000001 drop-newest full 4")
	c.stats.Subscribers[0].Lanes, c.tags["S1"] = lane(1, 2050), lostTags(many...)
	expectTold(t, o, "many tags", "S1 1025 tags drop-newest full 2046")
	c.stats.Subscribers[0].Lanes = lane(1, 2051)
	expectTold(t, o, "one message more", "S1 1025 tags drop-newest full 1")
	if c.asked != 2 || o.tags != 0 {
		t.Errorf("tags were asked for %d times and %d are in memory, want 2 and none", c.asked, o.tags)
	}
}

// TestOutgoingIsBounded has so many subscribers with so many tags that most of them are told
// as sums, and nothing is told twice.
func TestOutgoingIsBounded(t *testing.T) {
	w, _ := newWriter(&disk{room: -1})
	c := &crowd{tags: make(map[string][]bus.TagLosses)}
	o := NewOutgoing(w, func() bus.PublisherStats { return c.stats }, c.byTag)
	many := make([]uint64, 1000)
	for i := range many {
		many[i] = 1
	}
	const peers = 1200
	for i := range peers {
		instance := fmt.Sprintf("S%d", i)
		c.stats.Subscribers = append(c.stats.Subscribers, subscriberOf(instance, lane(1, 1000)))
		c.tags[instance] = lostTags(many...)
	}
	o.Look()
	if o.tags > maxTags {
		t.Errorf("got %d tags in memory, want at most %d", o.tags, maxTags)
	}
	if most := maxTags/1000 + maxLooked/1000 + 2; c.asked > most {
		t.Errorf("tags were asked for %d times, want at most %d", c.asked, most)
	}
	if got := w.added[state.Full]; got != peers*1000 {
		t.Errorf("got %d lost messages, want %d", got, peers*1000)
	}
}

// TestOutgoingTellsWhatSubscribersLoseThemselves, and at the end what is not known. The file of a
// publisher was empty where its summary had a million messages in the queues of its subscribers.
func TestOutgoingTellsWhatSubscribersLoseThemselves(t *testing.T) {
	w, _ := newWriter(&disk{room: -1})
	c := &crowd{tags: make(map[string][]bus.TagLosses)}
	o := NewOutgoing(w, func() bus.PublisherStats { return c.stats }, c.byTag)
	slow := []bus.LaneState{{ID: 1, Policy: dropNewest, Dropped: bus.Dropped{Overflowed: 5}}}
	c.stats.Subscribers = []bus.SubscriberState{subscriberOf("S1", slow)}
	expectTold(t, o, "a full queue", "S1 0 tags drop-newest overflow 5")
	slow[0].Dropped = bus.Dropped{Overflowed: 7, Panicked: 1}
	expectTold(t, o, "two more, and a panic", "S1 0 tags drop-newest overflow 2", "S1 0 tags drop-newest panic 1")
	expectTold(t, o, "nothing new")
	if c.asked != 0 {
		t.Errorf("tags were asked for %d times, want 0: subscribers do not say them", c.asked)
	}
	slow[0].Unconfirmed = 9
	expectTold(t, o, "what may still be confirmed")
	w.AddUnconfirmed(c.stats)
	expectTold(t, o, "what is not", "S1 0 tags drop-newest unconfirmed 9")
	c.stats.Dropped, c.stats.Unconfirmed, c.stats.Losses.Full = bus.Dropped{Overflowed: 8, Panicked: 1}, 11, 3
	w.totals = Totals(c.stats)
	w.balance()
	expectTold(t, o, "what is left", " 0 tags  full 3", " 0 tags  unconfirmed 2", " 0 tags  overflow 1")
}
