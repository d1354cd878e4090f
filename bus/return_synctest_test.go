// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// endRun is a publisher that ends while its subscriber is lost.
type endRun struct {
	t         *testing.T
	bed       *bed
	pub       *publisher
	sub       *subscriber
	published uint64
	got       *collector
}

func newEndRun(t *testing.T, cfg bus.PublisherConfig) *endRun {
	t.Helper()
	cfg.Tags = tags.Of(1)
	r := &endRun{t: t, bed: newBed(t), got: newCollector()}
	r.bed.net.SetDelay(anybody, anybody, 5*time.Millisecond)
	r.pub, r.sub = r.bed.publisher(cfg), r.bed.subscriber(bus.SubscriberConfig{})
	subscribe(t, r.sub, tags.Of(1), r.got.handle)
	return r
}

func (r *endRun) publish(n int) {
	for range n {
		must(r.t, r.pub.Publish(1, make([]byte, 100)))
	}
	r.published += uint64(n)
}

func (r *endRun) reset() { r.bed.net.Reset(r.pub.Addr(), anyPort(r.sub.host)) }

// check checks that everything is in one count, and that both ends say so.
func (r *endRun) check(where string) {
	r.t.Helper()
	lost := gaps(r.sub.member)[1]
	if got := uint64(r.got.count()); got+lost != r.published {
		r.t.Errorf("%s: received %d, lost %d of %d; events %v", where, got, lost, r.published, r.sub.events)
	}
	for _, problem := range auditSent(r.t, r.pub.Stats(), r.sub.Instance(), r.published) {
		r.t.Errorf("%s: %s", where, problem)
	}
	if n := r.pub.Stats().Unconfirmed; n != 0 {
		r.t.Errorf("%s: got %d unconfirmed, want none", where, n)
	}
	if len(r.sub.of(bus.Goodbye)) != 1 || len(r.sub.of(bus.Vanished)) != 0 {
		r.t.Errorf("%s: got events %v, want one goodbye", where, r.sub.events)
	}
}

// A connection that was reset just before the publisher ended left messages in
// no count, and both ends were content.
func TestPublisher_Drain_waitsForASubscriberThatItHasLost(t *testing.T) {
	for before := -20 * time.Millisecond; before < 300*time.Millisecond; before += 3 * time.Millisecond {
		name := fmt.Sprintf("reset %v before the end", before)
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newEndRun(t, bus.PublisherConfig{})
				r.publish(50)
				time.Sleep(time.Second)
				r.publish(50)
				r.pub.Flush()
				done := make(chan error, 1)
				drain := func() { done <- r.pub.Drain(context.Background()) }
				if before < 0 {
					go drain()
					time.Sleep(-before)
					r.reset()
				} else {
					r.reset()
					r.publish(10)
					time.Sleep(before)
					go drain()
				}
				err := <-done
				time.Sleep(time.Minute)
				if said := len(r.sub.of(bus.Lost)) == 0 || len(r.sub.of(bus.Goodbye)) == 1; err != nil && said {
					// The reset has destroyed the subscriber's goodbye, after it had
					// received all: it does not come back, and the publisher says so.
					if !errors.Is(err, bus.ErrUndelivered) || uint64(r.got.count()) != r.published {
						t.Errorf("drain: got %v, received %d of %d", err, r.got.count(), r.published)
					}
					return
				}
				must(t, err)
				r.check(name)
			})
		})
	}
}

func TestPublisher_Drain_sendsAgainWhatWasLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newEndRun(t, bus.PublisherConfig{Sending: bus.Sending{CacheMessages: 1000, CacheBytes: 1 << 20}})
		r.bed.net.Stall(anybody, anyPort(r.sub.host))
		r.publish(100)
		time.Sleep(time.Second)
		r.reset()
		r.bed.net.Resume(anybody, anyPort(r.sub.host))
		if err := r.pub.Drain(t.Context()); err != nil {
			t.Errorf("drain: %v; events %v; there %v", err, r.sub.events, r.pub.events)
		}
		time.Sleep(time.Second)
		r.check("at the end")
		if got := r.got.count(); got != 100 {
			t.Errorf("got %d messages, want all 100", got)
		}
	})
}

// A subscriber that does not come back is reported, and its end is unknown at both ends.
func TestPublisher_Drain_tellsOfASubscriberThatDoesNotComeBack(t *testing.T) {
	tests := []struct {
		name   string
		ago    time.Duration // before the end
		failed bool
		most   time.Duration // that Drain takes
	}{
		{"just lost", 0, true, 6 * time.Second},
		{"lost for a while", 3 * time.Second, true, 3 * time.Second},
		{"lost for long", 10 * time.Second, false, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newEndRun(t, bus.PublisherConfig{})
				r.bed.net.Stall(anybody, anyPort(r.sub.host))
				r.publish(100)
				time.Sleep(time.Second)
				r.reset()
				synctest.Wait()
				r.bed.net.Partition(anyPort(r.pub.host), anyPort(r.sub.host))
				time.Sleep(test.ago)
				start := time.Now()
				err := r.pub.Drain(t.Context())
				if took := time.Since(start); took > test.most {
					t.Errorf("drain took %v, want %v at most", took, test.most)
				}
				if errors.Is(err, bus.ErrUndelivered) != test.failed {
					t.Errorf("drain: got %v, want ErrUndelivered %v", err, test.failed)
				}
				if test.failed && !strings.Contains(err.Error(), "100 messages unconfirmed") {
					t.Errorf("drain: got %q, want the number of unconfirmed messages, 100", err)
				}
				if n := r.pub.Stats().Unconfirmed; n != 100 {
					t.Errorf("got %d unconfirmed, want 100", n)
				}
				must(t, r.pub.Close())
				time.Sleep(5 * time.Minute)
				if len(r.sub.of(bus.Goodbye)) != 0 || len(r.sub.of(bus.Vanished)) != 1 {
					t.Errorf("got events %v, want that the publisher has vanished", r.sub.events)
				}
			})
		})
	}
}

// The drain timeout ends the wait, and Close does.
func TestPublisher_Drain_theWaitForALostSubscriberEnds(t *testing.T) {
	for _, closed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := newEndRun(t, bus.PublisherConfig{})
			r.publish(100)
			r.bed.net.Partition(anyPort(r.pub.host), anyPort(r.sub.host))
			r.reset()
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			closing := make(chan error, 1)
			if closed {
				time.AfterFunc(time.Second/2, func() { closing <- r.pub.Close() })
			}
			start := time.Now()
			err := r.pub.Drain(ctx)
			if took := time.Since(start); err == nil || took > time.Second {
				t.Errorf("closed %v: got %v after %v, want an error after a second at most", closed, err, took)
			}
			if closed {
				must(t, <-closing)
			}
			r.bed.net.Heal(anyPort(r.pub.host), anyPort(r.sub.host))
		})
	}
}

// A stranger is not let in while the publisher waits.
func TestPublisher_Drain_takesNoOtherSubscribers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newEndRun(t, bus.PublisherConfig{})
		entries, err := r.bed.dir.List()
		must(t, err)
		r.bed.net.Partition(anyPort(r.pub.host), anyPort(r.sub.host))
		r.reset()
		done := make(chan error, 1)
		go func() { done <- r.pub.Drain(context.Background()) }()
		time.Sleep(100 * time.Millisecond)
		again, err := r.bed.dir.Announce(entries[0])
		must(t, err)
		other := r.bed.subscriber(bus.SubscriberConfig{})
		_, err = other.Subscribe(tags.Of(1), func(bus.Message) {})
		must(t, err)
		time.Sleep(time.Second)
		if len(other.of(bus.Refused)) == 0 || len(other.of(bus.Connected)) != 0 {
			t.Errorf("got events %v, want a refusal", other.events)
		}
		must(t, again.Withdraw())
		r.bed.net.Heal(anyPort(r.pub.host), anyPort(r.sub.host))
		if err := <-done; err != nil && !errors.Is(err, bus.ErrUndelivered) {
			t.Errorf("drain: got %v", err)
		}
	})
}

// A publisher that says goodbye before the account of a lost connection is settled
// leaves an unknown end.
func TestSubscriber_aGoodbyeBeforeTheAccountIsSettledIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		greeting := hello(t, subscription.Hello{Instance: "hasty", MaxMessageBytes: 1 << 14})
		x := &stranger{answer: [][]byte{greeting, control(t, &subscription.Subscribed{ID: 1})}}
		b.impostor(x, "hasty", tags.Of(1))
		s := b.subscriber(bus.SubscriberConfig{})
		subscribe(t, s, tags.Of(1), func(bus.Message) {})
		x.answer = [][]byte{greeting, control(t, &subscription.Goodbye{})}
		b.net.Reset(anybody, anyPort(s.host))
		time.Sleep(time.Minute)
		if len(s.of(bus.Vanished)) != 1 || len(s.of(bus.Goodbye)) != 0 {
			t.Errorf("got events %v, want that the publisher has vanished", s.events)
		}
	})
}

// A subscriber that was back, and was refused all that it asked for, heard no goodbye:
// the publisher waited for it until its context ended.
func TestPublisher_Drain_letsThoseGoThatItRefuses(t *testing.T) {
	head, _ := endless(subscription.MaxParts + 1)
	for name, request := range map[string]*subscription.Subscribe{
		"for the policy":     {ID: 2, Lane: 2, Policy: "latest", Set: setOf(t, 1)},
		"before it is known": {ID: 2, Lane: 2, Set: head},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{Policies: []bus.PolicyKind{bus.DropNewest, bus.Block}}})
				x := accountStranger(t)
				backend, _ := b.stranger(x)
				must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
				synctest.Wait()
				must(t, p.Publish(1, nil))
				p.Flush()
				b.net.Reset(p.Addr(), anybody)
				synctest.Wait()
				done := make(chan error, 1)
				go func() { done <- p.Drain(context.Background()) }()
				synctest.Wait()
				x.answer = [][]byte{
					hello(t, subscription.Hello{Instance: "twin", MaxMessageBytes: 1 << 30}),
					control(t, request),
				}
				must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
				time.Sleep(10 * time.Second)
				x.mu.Lock()
				goodbye := len(x.got) > 0 && x.got[len(x.got)-1][0] == byte(subscription.KindGoodbye)
				if !goodbye {
					t.Errorf("got %x, want a goodbye at the end", x.got)
				}
				x.mu.Unlock()
				must(t, backend.Close())
				select {
				case err := <-done:
					if !errors.Is(err, bus.ErrUndelivered) {
						t.Errorf("drain: got %v, want ErrUndelivered", err)
					}
				case <-time.After(10 * time.Second):
					t.Errorf("drain does not end; events %v", p.events)
				}
			})
		})
	}
}
