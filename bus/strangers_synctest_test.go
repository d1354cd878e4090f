// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/subscription"
	"tagbus/tags"
)

// Each of these connections took 30 MB for ever.
func TestPublisher_aSetThatNeverEndsTakesNoMemory(t *testing.T) {
	if testkit.Race {
		t.Skip("counts the heap, of which the race detector has its own idea")
	}
	synctest.Test(t, func(t *testing.T) {
		const strangers = 32
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		c := b.crowd(t)
		head, part := endless(2_000_000)
		heap := liveHeap()
		for range strangers {
			_, ep := c.come(p)
			send(t, ep, &subscription.Subscribe{ID: 1, Set: head, More: true})
			for range 200 { // 3.2 MB
				send(t, ep, &subscription.Subscribe{ID: 1, Set: part, More: true})
				synctest.Wait()
			}
		}
		if grown := liveHeap() - heap; grown > 16<<20 {
			t.Errorf("%d strangers: got %d bytes of heap, want at most 16 MiB", strangers, grown)
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if got := c.open(); got > 0 {
			t.Errorf("after 30 s: got %d connections open, want none", got)
		}
		wantCause(t, p.member, bus.ErrGroupTimeout)
	})
}

// What is over the limit is refused by name, when the last part has come, and the
// connection goes on.
func TestPublisher_refusesASetOverTheLimitByName(t *testing.T) {
	tooManyMasks := func(t *testing.T) []byte {
		t.Helper()
		var sets []tags.Set
		for i := range 300 {
			sets = append(sets, tags.Match(tags.Tag(i)<<8, ^tags.Tag(0xf0)))
		}
		b, err := tags.Union(sets...).MarshalBinary()
		must(t, err)
		return b
	}
	tests := []struct {
		name  string
		parts func(t *testing.T) [][]byte
	}{
		{"ranges", func(*testing.T) [][]byte {
			head, part := endless(subscription.MaxParts + 1)
			parts := [][]byte{head}
			for range 17 {
				parts = append(parts, part)
			}
			return parts
		}},
		{"a head in pieces", func(*testing.T) [][]byte {
			head, part := endless(2_000_000)
			return [][]byte{head[:1], head[1:2], head[2:], part}
		}},
		{"patterns", func(t *testing.T) [][]byte { return [][]byte{tooManyMasks(t)} }},
		{"bytes of patterns", func(t *testing.T) [][]byte {
			set := tooManyMasks(t)
			set = append(set, make([]byte, 11000)...)
			return [][]byte{set[:8000], set[8000:]}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
				c := b.crowd(t)
				h, ep := c.come(p)
				parts := test.parts(t)
				for i, part := range parts {
					send(t, ep, &subscription.Subscribe{ID: 7, Set: part, More: i+1 < len(parts)})
					synctest.Wait()
				}
				send(t, ep, &subscription.Subscribe{ID: 8, Set: setOf(t, 1)})
				synctest.Wait()
				wantCause(t, p.member, subscription.ErrTooManyTags)
				if len(h.got) != 3 || h.got[1][0] != byte(subscription.KindRefused) || h.got[2][0] != byte(subscription.KindSubscribed) {
					t.Errorf("got %q, want a hello, Refused and Subscribed", h.got)
				}
			})
		})
	}
}

// A group that is not complete in time ends its connection, however often a part
// comes.
func TestPublisher_endsAGroupThatDrips(t *testing.T) {
	drips := map[string]func(t *testing.T, i int) subscription.Message{
		"parts of a set": func(_ *testing.T, i int) subscription.Message {
			part := []byte{0, 0}
			if i == 0 {
				part, _ = endless(1000)
			}
			return &subscription.Subscribe{ID: 9, Set: part, More: true}
		},
		"subscriptions": func(t *testing.T, i int) subscription.Message {
			return &subscription.Subscribe{ID: uint64(i + 9), Set: setOf(t, 1), WithNext: true}
		},
		"positions": func(_ *testing.T, i int) subscription.Message {
			list := subscription.AppendPosition(nil, 0, subscription.Position{Tag: tags.Tag(i)})
			return &subscription.Positions{ID: 9, List: list}
		},
	}
	for name, drip := range drips {
		for _, active := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, subscribed before: %v", name, active), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBed(t)
					p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
					c := b.crowd(t)
					h, ep := c.come(p)
					if active {
						send(t, ep, &subscription.Subscribe{ID: 1, Set: setOf(t, 1)})
						time.Sleep(time.Minute)
						synctest.Wait()
						if h.closed > 0 {
							t.Fatalf("closed although it has a subscription: %v", p.events)
						}
					}
					for i := range 140 {
						if ep.SendCopy(0, nil, control(t, drip(t, i))) != nil {
							break
						}
						time.Sleep(100 * time.Millisecond)
					}
					synctest.Wait()
					if h.closed == 0 {
						t.Error("after 14 s: got an open connection, want it closed after 10 s to 12.5 s")
					}
					wantCause(t, p.member, bus.ErrGroupTimeout)
				})
			})
		}
	}
}

// All incomplete groups together have a bound; the oldest ones give way.
func TestPublisher_incompleteGroupsShareABound(t *testing.T) {
	if testing.Short() || testkit.Race {
		t.Skip("sends 330 MB, which takes too long under -race and with -short")
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		c := b.crowd(t)
		head, part := endless(subscription.MaxParts)
		heap := liveHeap()
		for range 130 {
			_, ep := c.come(p)
			send(t, ep, &subscription.Subscribe{ID: 1, Set: head, More: true})
			for range 160 { // 2.56 MB
				send(t, ep, &subscription.Subscribe{ID: 1, Set: part, More: true})
				synctest.Wait()
			}
		}
		if grown := liveHeap() - heap; grown > 320<<20 {
			t.Errorf("got %d bytes of heap, want at most 320 MiB", grown)
		}
		if open := c.open(); open > 105 || open < 50 {
			t.Errorf("got %d connections open, want the 100 or so that fit into 256 MiB", open)
		}
		wantCause(t, p.member, bus.ErrGroupMemory)
		subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(1), ignore)
	})
}

// More positions than there are tags cannot be.
func TestPublisher_positionsAreBoundedByTheTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		c := b.crowd(t)
		h, ep := c.come(p)
		var list []byte
		for i := range 5000 {
			list = subscription.AppendPosition(list, tags.Tag(max(i, 1)-1), subscription.Position{Tag: tags.Tag(i), Count: 1})
		}
		send(t, ep, &subscription.Positions{ID: 1, List: list})
		synctest.Wait()
		if h.closed == 0 {
			t.Error("5000 positions at a publisher without tags: got an open connection, want it closed")
		}
		wantCause(t, p.member, bus.ErrProtocol)
	})
}

// A subscriber has as many lanes as a connection can have, on all its connections.
func TestPublisher_remembersAnInstanceWithFewLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rounds = 50
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		for range 10 {
			must(t, p.Publish(1, nil))
		}
		c := b.crowd(t)
		list := subscription.AppendPosition(nil, 0, subscription.Position{Tag: 1, Count: 1})
		for round := range rounds {
			h := newHand()
			h.answer = [][]byte{hello(t, subscription.Hello{Instance: "x", MaxMessageBytes: 1 << 30})}
			ep := c.dial(p, h)
			for i := range 16 {
				lane := uint16(16*round + i)
				send(t, ep, &subscription.Subscribe{ID: uint64(i + 1), Lane: lane, Set: setOf(t, 1)})
				send(t, ep, &subscription.Missed{Lane: lane, Cause: subscription.CauseConnection, List: list})
				synctest.Wait()
			}
			must(t, ep.Close())
			synctest.Wait()
		}
		gone := p.Stats().Gone
		if len(gone) != 1 || len(gone[0].Lanes) != 16 {
			t.Fatalf("got %d subscribers that have gone, with %d lanes, want 1 with 16", len(gone), len(gone[0].Lanes))
		}
		if got := p.Stats().Losses.Connection; got != 16*rounds {
			t.Errorf("got %d messages lost with connections, want %d, those of forgotten lanes too", got, 16*rounds)
		}
	})
}
