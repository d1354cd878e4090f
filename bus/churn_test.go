// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/tags"
)

// TestSubscriber_Subscribe_whilePublishing moves tags between streams while goroutines publish
// them. The position that an acknowledgement names must be exact every time. Each
// payload carries the counter that its message must arrive with.
func TestSubscriber_Subscribe_whilePublishing(t *testing.T) {
	for _, streams := range []int{1, 64} {
		b := newBed(t)
		all := tags.Of(0, 1, 2, 3)
		p := b.publisher(bus.PublisherConfig{
			Tags: all, Sending: bus.Sending{PageBytes: 512, QueueBytes: 8192, MaxMessageBytes: 1000},
			MaxStreams: streams,
		})
		stop := make(chan struct{})
		var publishing sync.WaitGroup
		for _, group := range [][]tags.Tag{{0}, {1}, {2, 3}} {
			publishing.Go(func() { publishUntil(t, p.Publisher, group, stop) })
		}
		var churning sync.WaitGroup
		var received atomic.Int64
		for i := range 4 {
			s := b.subscriber(bus.SubscriberConfig{})
			churning.Go(func() { churn(t, s, tags.Of(tags.Tag(i), tags.Tag(i+1)%4), &received) })
		}
		churning.Wait()
		close(stop)
		publishing.Wait()
		must(t, p.Drain(t.Context()))
		if received.Load() == 0 {
			t.Error("nothing was received")
		}
	}
}

// publishUntil publishes the messages of a tag one by one, and those of several
// tags in batches.
func publishUntil(t *testing.T, p *bus.Publisher, group []tags.Tag, stop chan struct{}) {
	for first := uint64(1); ; first += 5 {
		select {
		case <-stop:
			return
		default:
		}
		var batch []bus.Message
		for i := range uint64(5) {
			for _, tag := range group {
				batch = append(batch, bus.Message{Tag: tag, Data: payload(tag, first+i)})
			}
		}
		if err := publishAll(p, batch, len(group) > 1); err != nil {
			t.Errorf("publish: %v", err)
			return
		}
	}
}

func publishAll(p *bus.Publisher, messages []bus.Message, batch bool) (err error) {
	if batch {
		_, err = p.PublishBatchContext(context.Background(), messages)
		return err
	}
	for _, m := range messages {
		err = errors.Join(err, p.PublishContext(context.Background(), m.Tag, m.Data))
	}
	return err
}

// churn subscribes and unsubscribes, and checks each time that the messages
// follow each other from the first on.
func churn(t *testing.T, s *subscriber, set tags.Set, received *atomic.Int64) {
	for range testkit.Fewer(50) {
		last := make(map[tags.Tag]uint64)
		got := make(chan struct{}, 1)
		sub, err := s.Subscribe(set, func(m bus.Message) {
			if string(m.Data) != string(payload(m.Tag, m.Counter)) {
				t.Errorf("tag %v arrived as %d: got %.20s", m.Tag, m.Counter, m.Data)
			}
			if before, ok := last[m.Tag]; ok && m.Counter != before+1 {
				t.Errorf("tag %v: counter %d after %d", m.Tag, m.Counter, before)
			}
			last[m.Tag] = m.Counter
			received.Add(1)
			select {
			case got <- struct{}{}:
			default:
			}
		})
		if err != nil {
			t.Error(err)
			return
		}
		<-got
		if err := sub.Unsubscribe(context.Background()); err != nil {
			t.Error(err)
			return
		}
	}
	if st := s.Stats(); st.Lost > 0 {
		t.Errorf("%d messages reported lost", st.Lost)
	}
}
