// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/tags"
)

// outgoing makes messages of "tag:text" each.
func outgoing(words ...string) (batch []bus.Message) {
	for _, w := range words {
		tag, data, _ := strings.Cut(w, ":")
		batch = append(batch, bus.Message{Tag: tags.Tag(tag[0] - '0'), Data: []byte(data)})
	}
	return batch
}

func TestPublisher_PublishBatch_endsAtTheFirstMessageThatIsRefused(t *testing.T) {
	large := "1:" + strings.Repeat("x", 101)
	tests := []struct {
		name    string
		streams int
		removed tags.Set
		batch   []bus.Message
		want    int
		err     error
	}{
		{"nothing", 64, tags.Set{}, nil, 0, nil},
		{"all", 64, tags.Set{}, outgoing("1:a", "1:b", "2:c", "3:d", "1:e"), 5, nil},
		{"all, some of them copied", 1, tags.Set{}, outgoing("1:a", "1:b", "2:c", "3:d", "1:e"), 5, nil},
		{"an unknown tag in the middle", 64, tags.Set{}, outgoing("1:a", "9:b", "1:c"), 1, bus.ErrUnknownTag},
		{"an unknown tag at first", 64, tags.Set{}, outgoing("9:b", "1:c"), 0, bus.ErrUnknownTag},
		{"a removed tag", 64, tags.Of(2), outgoing("1:a", "2:b", "1:c"), 1, bus.ErrUnknownTag},
		{"a message that is too large", 64, tags.Set{}, outgoing("1:a", "1:b", large, "1:c"), 2, bus.ErrMessageTooLarge},
		{"a message that is too large at first", 64, tags.Set{}, outgoing(large), 0, bus.ErrMessageTooLarge},
		{"a message that is too large, copied", 1, tags.Set{}, outgoing("1:a", large), 1, bus.ErrMessageTooLarge},
	}
	publishes := []struct {
		name string
		call func(*bus.Publisher, []bus.Message) (int, error)
	}{
		{"messages", (*bus.Publisher).PublishBatch},
		{"rows", func(p *bus.Publisher, batch []bus.Message) (int, error) { return p.PublishRows(bus.RowsOf(batch)) }},
	}
	for i := range 2 * len(tests) {
		test, publish := tests[i/2], publishes[i%2]
		t.Run(test.name+", "+publish.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2, 3), Sending: bus.Sending{MaxMessageBytes: 100}, MaxStreams: test.streams})
				both, one := newCollector(), newCollector()
				subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(1, 2), both.handle)
				subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(1), one.handle)
				if !test.removed.IsEmpty() {
					must(t, p.RemoveTags(test.removed))
				}
				n, err := publish.call(p.Publisher, test.batch)
				if n != test.want || !errors.Is(err, test.err) {
					t.Errorf("got %d, %v, want %d, %v", n, err, test.want, test.err)
				}
				p.Flush()
				synctest.Wait()
				want := newCollector()
				for _, m := range test.batch[:n] {
					if m.Tag < 3 { // no subscriber wants 3
						want.data[m.Tag] = append(want.data[m.Tag], string(m.Data))
					}
				}
				if diff := cmp.Diff(want.data, both.data); diff != "" {
					t.Errorf("received: got (+) and want (-)\n%s", diff)
				}
				if diff := cmp.Diff(want.data[1], one.data[1]); diff != "" {
					t.Errorf("received of tag 1: got (+) and want (-)\n%s", diff)
				}
			})
		})
	}
}

func TestPublisher_PublishBatchContext_waitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{PageBytes: 1024, QueueBytes: 4096, MaxMessageBytes: 1000}})
		s := b.subscriber(bus.SubscriberConfig{})
		b.net.SetWindow(anybody, anyPort(s.host), 1024)
		c := newCollector()
		subscribe(t, s, tags.Of(1), c.handle)
		b.net.Stall(anybody, anyPort(s.host))
		batch := make([]bus.Message, 400)
		for i := range batch {
			batch[i] = bus.Message{Tag: 1, Data: make([]byte, 100)}
		}
		n, err := p.PublishBatch(batch)
		if n == 0 || n == len(batch) || !errors.Is(err, bus.ErrNoResources) {
			t.Fatalf("a subscriber that does not read: got %d of %d, %v", n, len(batch), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		more, err := p.PublishBatchContext(ctx, batch[n:]) // some go into the network
		if n += more; n == len(batch) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a second to wait: got %d of %d, %v", n, len(batch), err)
		}
		go func() {
			time.Sleep(time.Second)
			b.net.Resume(anybody, anyPort(s.host))
		}()
		if more, err := p.PublishBatchContext(t.Context(), batch[n:]); more != len(batch)-n || err != nil {
			t.Errorf("with time: got %d, %v, want %d", more, err, len(batch)-n)
		}
		must(t, p.Drain(t.Context()))
		synctest.Wait()
		if c.count() != len(batch) || len(c.bad) > 0 {
			t.Errorf("received %d of %d; %v", c.count(), len(batch), c.bad)
		}
	})
}

func TestPublisher_PublishBatch_takesWhatABatchHandlerGets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		first := b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2)})
		relay := b.publisher(bus.PublisherConfig{Tags: tags.Of(11, 12)})
		c := newCollector()
		subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(11, 12), c.handle)
		sub, err := b.subscriber(bus.SubscriberConfig{}).SubscribeBatch(tags.Of(1, 2), func(batch []bus.Message) {
			for i := range batch {
				batch[i].Tag += 10
			}
			if n, err := relay.PublishBatch(batch); n != len(batch) || err != nil {
				t.Errorf("publish again: got %d, %v, want %d", n, err, len(batch))
			}
		}, bus.SubscriptionConfig{})
		must(t, err)
		must(t, sub.Wait(t.Context()))
		_, err = first.PublishBatch(outgoing("1:a", "2:b", "1:c"))
		must(t, err)
		must(t, first.Drain(t.Context()))
		synctest.Wait()
		must(t, relay.Drain(t.Context()))
		synctest.Wait()
		if diff := cmp.Diff(map[tags.Tag][]string{11: {"a", "c"}, 12: {"b"}}, c.data); diff != "" {
			t.Errorf("received: got (+) and want (-)\n%s", diff)
		}
	})
}
