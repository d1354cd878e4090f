// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// listOf returns a list of one position or count.
func listOf(tag tags.Tag, count uint64) []byte {
	return subscription.AppendPosition(nil, 0, subscription.Position{Tag: tag, Count: count})
}

// broken returns the first Problem of a member that is a breach of the protocol.
func broken(m *member) error {
	for _, e := range m.of(bus.Problem) {
		if errors.Is(e.Err, bus.ErrProtocol) {
			return e.Err
		}
	}
	return nil
}

// A subscriber that claimed to have missed more messages than there were made the
// publisher's counts wrong, and wrap.
func TestPublisher_aSubscriberCannotHaveMissedMoreThanPublished(t *testing.T) {
	missed := func(cause subscription.Cause, tag tags.Tag, n uint64) subscription.Message {
		return &subscription.Missed{Lane: 1, Cause: cause, List: listOf(tag, n)}
	}
	const published = 100 // of tag 1, none of tag 2
	tests := []struct {
		name string
		send []subscription.Message
		want bus.Losses // of tag 1
		end  string     // in the event; empty: the connection stays
	}{
		{"all that there was", []subscription.Message{missed(4, 1, published)}, bus.Losses{Connection: published}, ""},
		{
			"all that there was, for several causes",
			[]subscription.Message{missed(1, 1, 50), missed(2, 1, 20), missed(3, 1, 20), missed(4, 1, 10)},
			bus.Losses{Full: 50, Memory: 20, LeftOut: 20, Connection: 10},
			"",
		},
		{"one more", []subscription.Message{missed(4, 1, published+1)}, bus.Losses{}, "missed 101 messages of tag 0x0000000000000001"},
		{"2^63", []subscription.Message{missed(4, 1, 1<<63)}, bus.Losses{}, "missed 9223372036854775808 messages of tag 0x0000000000000001, of which 100 were published"},
		{"2^64-1", []subscription.Message{missed(1, 1, math.MaxUint64)}, bus.Losses{}, "missed 18446744073709551615"},
		{"all, and then one", []subscription.Message{missed(4, 1, published), missed(4, 1, 1)}, bus.Losses{Connection: published}, "missed 1 messages of tag"},
		{"all, and one for another cause", []subscription.Message{missed(4, 1, published), missed(1, 1, 1)}, bus.Losses{Connection: published}, "missed 1 messages of tag"},
		{"some of a tag that was never published", []subscription.Message{missed(4, 2, 1)}, bus.Losses{}, "missed 1 messages of tag 0x0000000000000002, of which 0 were published"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2)})
				for range published {
					must(t, p.Publish(1, nil))
				}
				s := accountStranger(t, test.send...)
				backend, _ := b.stranger(s)
				must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
				time.Sleep(time.Second)
				var want []bus.TagLosses
				if test.want != (bus.Losses{}) {
					want = []bus.TagLosses{{Policy: bus.Policy{Kind: bus.DropNewest}, Tag: 1, Losses: test.want}}
				}
				if d := cmp.Diff(want, p.TagLosses("twin")); d != "" {
					t.Errorf("losses (-want +got):\n%s", d)
				}
				if ended, want := s.ended(), test.end != ""; ended != want {
					t.Errorf("got the end of the connection %v, want %v; events %v", ended, want, p.events)
				}
				wantEvent(t, p.member, test.end)
				if err := broken(p.member); test.end != "" && err == nil {
					t.Errorf("got events %v, want a Problem with ErrProtocol", p.events)
				}
			})
		})
	}
}

// A subscriber cannot have received more than was published, either.
func TestPublisher_aSubscriberCannotStandAboveWhatWasPublished(t *testing.T) {
	set, err := tags.Of(1).MarshalBinary()
	must(t, err)
	for count, fine := range map[uint64]bool{0: true, 3: true, 4: false, 1 << 63: false, math.MaxUint64: false} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{CacheMessages: 10, CacheBytes: 1 << 16}})
				for range 3 {
					must(t, p.Publish(1, nil))
				}
				s := &stranger{answer: [][]byte{
					hello(t, subscription.Hello{Instance: "twin", MaxMessageBytes: 1 << 30}),
					control(t, &subscription.Positions{ID: 1, List: listOf(1, count)}),
					control(t, &subscription.Subscribe{ID: 1, Set: set, Resume: true}),
				}}
				backend, _ := b.stranger(s)
				must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
				time.Sleep(time.Second)
				if got := broken(p.member) == nil; got != fine {
					t.Errorf("a subscriber at %d of 3: got taken %v, want %v; events %v", count, got, fine, p.events)
				}
				if !fine {
					wantEvent(t, p.member, fmt.Sprintf("tag 0x0000000000000001 at %d, of 3", count))
				}
			})
		})
	}
}

// An Ack of messages that were never sent settled all that waited.
func TestSender_aReceiverCannotAcknowledgeWhatWasNotSent(t *testing.T) {
	set, err := tags.Of(5).MarshalBinary()
	must(t, err)
	for position, fine := range map[uint64]bool{1: true, 2: false, 1 << 63: false, math.MaxUint64: false} {
		t.Run(fmt.Sprint(position), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				x := &stranger{answer: [][]byte{
					hello(t, subscription.Hello{Instance: "x", Role: subscription.RoleReceiver, MaxMessageBytes: 64 << 20}),
					control(t, &subscription.Subscribe{ID: 1, Set: set}),
				}, reply: map[byte][]byte{byte(subscription.KindPage): control(t, &subscription.Ack{Tag: 5, Position: position})}}
				b.receiverByHand(x, tags.Of(5))
				s := b.sender(bus.SenderConfig{})
				must(t, s.WaitReceivers(t.Context(), tags.Of(5)))
				if err := s.SendAcked(t.Context(), 5, nil); (err == nil) != fine {
					t.Errorf("message 1 and an Ack of %d: got %v", position, err)
				}
				if !fine {
					synctest.Wait()
					wantEvent(t, s.member, fmt.Sprintf("acknowledges message %d of tag 0x0000000000000005, of 1", position))
				}
			})
		})
	}
}

// Positions and losses near 2^64 made the counters of a subscriber wrap.
func TestSubscriber_Stats_theCountsDoNotWrap(t *testing.T) {
	const most = 1 << 53
	lost := func(tag tags.Tag, n uint64, total bool) subscription.Message {
		return &subscription.Lost{Cause: subscription.CauseFull, List: listOf(tag, n), Total: total}
	}
	subscribed := &subscription.Subscribed{ID: 1}
	page := func(position uint64) []byte {
		b := []byte{1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0x80, 1, 0, 0, 0, 0, 0, 0, 0}
		return append(binary.LittleEndian.AppendUint64(b, position), 'x')
	}
	tests := []struct {
		name string
		send []subscription.Message
		page []byte
		fine bool
	}{
		{"a position at the limit", []subscription.Message{&subscription.Positions{ID: 1, List: listOf(1, most)}, subscribed}, nil, true},
		{"a position above it", []subscription.Message{&subscription.Positions{ID: 1, List: listOf(1, most+1)}, subscribed}, nil, false},
		{"a position of 2^64-1", []subscription.Message{&subscription.Positions{ID: 1, List: listOf(1, math.MaxUint64)}, subscribed}, nil, false},
		{"losses at the limit", []subscription.Message{subscribed, lost(1, most, false)}, nil, true},
		{"losses above it", []subscription.Message{subscribed, lost(1, most+1, false)}, nil, false},
		{"losses of 2^64-1", []subscription.Message{subscribed, lost(1, math.MaxUint64, false)}, nil, false},
		{"losses that add up to more", []subscription.Message{subscribed, lost(1, most, false), lost(1, 1, false)}, nil, false},
		{"losses of two tags that add up to more", []subscription.Message{subscribed, lost(1, most, false), lost(2, 1, false)}, nil, false},
		{"totals above it", []subscription.Message{lost(1, most+1, true), subscribed}, nil, false},
		{"totals of two tags that add up to more", []subscription.Message{lost(1, most, true), lost(2, 1, true), subscribed}, nil, false},
		{"a last position above it", []subscription.Message{subscribed, &subscription.Goodbye{List: listOf(1, most+1)}}, nil, false},
		{"a page at a position at the limit", []subscription.Message{subscribed}, page(most), true},
		{"a page at a position above it", []subscription.Message{subscribed}, page(most + 1), false},
		{"a page at 2^64-1", []subscription.Message{subscribed}, page(math.MaxUint64), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				liar := &stranger{answer: [][]byte{hello(t, subscription.Hello{Instance: "liar", MaxMessageBytes: 1 << 14})}}
				for _, m := range test.send {
					liar.answer = append(liar.answer, control(t, m))
				}
				if test.page != nil {
					liar.answer = append(liar.answer, test.page)
				}
				b.impostor(liar, "liar", tags.Of(1, 2))
				s := b.subscriber(bus.SubscriberConfig{Dialing: bus.Dialing{ReconnectMin: time.Hour, ReconnectMax: time.Hour}})
				_, err := s.Subscribe(tags.Of(1, 2), func(bus.Message) {})
				must(t, err)
				time.Sleep(time.Second)
				if got := broken(s.member) == nil; got != test.fine {
					t.Errorf("got taken %v, want %v; events %v", got, test.fine, s.events)
				}
				if !test.fine {
					wantEvent(t, s.member, "limit 9007199254740992")
				}
				if lost := s.Stats().Lost; lost > most {
					t.Errorf("got %d lost, want %d at most", lost, uint64(most))
				}
			})
		})
	}
}
