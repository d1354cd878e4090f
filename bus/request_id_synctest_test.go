// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/tags"
)

// idWay is a way to receive messages. It puts what has come into got.
type idWay struct {
	name  string
	lossy bool // messages that follow each other closely may be lost
	begin func(t *testing.T, s *subscriber, got *[]string)
}

// shownWithID returns a message with all that the bus carries of it.
func shownWithID(m *bus.Message) string {
	return fmt.Sprintf("#%d status %d, %d bytes %08x, id %v", m.Counter, m.Status, len(m.Data), crc32.ChecksumIEEE(m.Data), m.RequestID())
}

func subscribedWith(cfg bus.SubscriptionConfig) func(t *testing.T, s *subscriber, got *[]string) {
	return func(t *testing.T, s *subscriber, got *[]string) {
		_, err := s.SubscribeWith(tags.Of(5), func(m bus.Message) { *got = append(*got, shownWithID(&m)) }, cfg)
		must(t, err)
	}
}

func iterated(cfg bus.SubscriptionConfig) func(t *testing.T, s *subscriber, got *[]string) {
	return func(t *testing.T, s *subscriber, got *[]string) {
		sub, err := s.SubscribeWith(tags.Of(5), nil, cfg)
		must(t, err)
		go func() {
			for m, err := range sub.Messages(t.Context()) {
				if err != nil {
					return
				}
				*got = append(*got, shownWithID(&m))
			}
		}()
	}
}

var idWays = []idWay{
	{"a handler", false, subscribedWith(bus.SubscriptionConfig{})},
	{"two handlers", false, func(t *testing.T, s *subscriber, got *[]string) {
		_, err := s.Subscribe(tags.Of(5), func(bus.Message) {})
		must(t, err)
		subscribedWith(bus.SubscriptionConfig{})(t, s, got)
	}},
	{"a batch handler", false, func(t *testing.T, s *subscriber, got *[]string) {
		_, err := s.SubscribeBatch(tags.Of(5), func(all []bus.Message) {
			for _, m := range all {
				*got = append(*got, shownWithID(&m))
			}
		}, bus.SubscriptionConfig{})
		must(t, err)
	}},
	{"an iteration", false, iterated(bus.SubscriptionConfig{})},
	{"an iteration that may lose messages", false, iterated(bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.DropOldest}})},
	{"latest", true, subscribedWith(bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.Latest}})},
	{"sample", false, subscribedWith(bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.Sample, Every: 1}})},
}

// ids returns two ids of requests.
func (b *bed) ids(t *testing.T) (first, second bus.RequestID) {
	t.Helper()
	d := b.askers()
	r, _, _ := b.requester(bus.RequesterConfig{})
	for range 2 {
		ask(t, r, "read")
		time.Sleep(time.Second)
	}
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.ids) != 2 || d.ids[0] == d.ids[1] || slices.Contains(d.ids, bus.RequestID{}) {
		t.Fatalf("got the ids %v, want two different ones", d.ids)
	}
	return d.ids[0], d.ids[1]
}

// TestRequestID_onAllWays publishes messages with and without ids in a row. All arrive as they
// were published, whichever way they go, and from the cache.
func TestRequestID_onAllWays(t *testing.T) {
	for _, apart := range []time.Duration{0, 10 * time.Millisecond} {
		t.Run(fmt.Sprint(apart, " apart"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				first, second := b.ids(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(5), Sending: bus.Sending{PageBytes: 4096, MaxMessageBytes: 1 << 16, CacheMessages: 100}})
				got := make([][]string, len(idWays))
				for i, way := range idWays {
					way.begin(t, b.subscriber(bus.SubscriberConfig{}), &got[i])
				}
				must(t, p.WaitSubscribers(t.Context(), len(idWays), tags.Of(5)))
				time.Sleep(time.Second)
				var want []string
				for i, m := range []struct {
					id     bus.RequestID
					status bus.Status
					bytes  int
				}{
					{bytes: 3},
					{id: first, bytes: 4},
					{id: first, bytes: 4},
					{bytes: 3},
					{bytes: 3},
					{id: second, status: 7},
					{id: first, status: 255, bytes: 20000},
					{status: 1, bytes: 5},
					{bytes: 0},
					{id: second, bytes: 1<<16 - 17},
				} {
					data := strings.Repeat(string(rune('a'+i)), m.bytes)
					must(t, p.ReplyContext(t.Context(), m.id, 5, m.status, []byte(data)))
					want = append(want, shown(i+1, m.status, data, m.id))
					time.Sleep(apart)
				}
				time.Sleep(time.Second)
				var old []string
				subscribedWith(bus.SubscriptionConfig{Replay: 100})(t, b.subscriber(bus.SubscriberConfig{}), &old)
				time.Sleep(time.Second)
				synctest.Wait()
				for i, way := range idWays {
					if diff := cmp.Diff(want, got[i]); diff != "" && (apart > 0 || !way.lossy) {
						t.Errorf("%s (-want +got):\n%s", way.name, diff)
					}
				}
				if diff := cmp.Diff(want, old); diff != "" {
					t.Errorf("from the cache (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// shown is shownWithID of what was published.
func shown(counter int, status bus.Status, data string, id bus.RequestID) string {
	return fmt.Sprintf("#%d status %d, %d bytes %08x, id %v", counter, status, len(data), crc32.ChecksumIEEE([]byte(data)), id)
}

func TestMessage_Retain_keepsTheIDOfARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		first, second := b.ids(t)
		p, s := b.publisher(bus.PublisherConfig{Tags: tags.Of(5)}), b.subscriber(bus.SubscriberConfig{})
		var over, kept []bus.Message
		subscribe(t, s, tags.Of(5), func(m bus.Message) {
			over = append(over, m)
			must(t, m.Retain())
			must(t, m.Retain())
			kept = append(kept, m)
		})
		want := []bus.RequestID{first, {}, second, first}
		for _, id := range want {
			must(t, p.Reply(id, 5, 0, []byte(id.String())))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		check := func(all []bus.Message, want []bus.RequestID) {
			t.Helper()
			var got []bus.RequestID
			for _, m := range all {
				got = append(got, m.RequestID())
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v\nwant %v", got, want)
			}
		}
		check(over, want)
		check(kept, want)
		for i := range kept {
			if string(kept[i].Data) != want[i].String() {
				t.Errorf("got %q, want %q", kept[i].Data, want[i])
			}
			again := kept[i]
			kept[i].Release()
			kept[i] = again // which is released, too
		}
		check(kept, make([]bus.RequestID, len(want)))
		must(t, p.Publish(5, nil)) // takes the place of one that was kept
		time.Sleep(time.Second)
		synctest.Wait()
		check(kept[len(want):], []bus.RequestID{{}})
		if err := over[0].Retain(); !errors.Is(err, bus.ErrMessageOver) {
			t.Errorf("a request behind its handler: got %v, want ErrMessageOver", err)
		}
	})
}

func TestPublisher_Reply_thatIsNotPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		id, _ := b.ids(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(5), Sending: bus.Sending{PageBytes: 4096, MaxMessageBytes: 1000}})
		for _, reply := range []func(tag tags.Tag, data []byte) error{
			func(tag tags.Tag, data []byte) error { return p.Reply(id, tag, 0, data) },
			func(tag tags.Tag, data []byte) error { return p.ReplyContext(t.Context(), id, tag, 0, data) },
		} {
			must(t, reply(5, make([]byte, 983)))
			var refused *bus.PublishError
			if err := reply(5, make([]byte, 984)); !errors.As(err, &refused) || !errors.Is(err, bus.ErrMessageTooLarge) || refused.Bytes != 984 || refused.Limit != 983 {
				t.Errorf("got %v, want ErrMessageTooLarge of 984 bytes, limit 983", err)
			}
			if err := reply(6, nil); !errors.Is(err, bus.ErrUnknownTag) {
				t.Errorf("got %v, want ErrUnknownTag", err)
			}
		}
		must(t, p.Close())
		if err := p.Reply(id, 5, 0, nil); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	})
}
