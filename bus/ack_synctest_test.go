// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

func TestSender_SendAcked_returnsWhenTheHandlerHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		handled := 0
		b.receiver(bus.ReceiverConfig{Tags: tags.Of(1, 2)}, func(m bus.Message) {
			if m.Tag == 1 {
				handled++
			}
		})
		s := b.sender(bus.SenderConfig{Sending: bus.Sending{FlushInterval: time.Hour, PageBytes: 4096, MaxMessageBytes: 100_000}})
		must(t, s.SendContext(t.Context(), 2, nil))
		for i := range 100 {
			must(t, s.Send(2, nil)) // they share the page of the other tag
			must(t, s.SendAcked(t.Context(), 1, make([]byte, i*1000)))
			if handled != i+1 {
				t.Fatalf("message %d is acknowledged, and %d were handled", i+1, handled)
			}
		}
		if st := s.Stats(); st.Acked != 100 || st.Unacked != 0 || st.Messages != 201 {
			t.Errorf("got %+v, want 100 acknowledged", st)
		}
	})
}

func TestSender_SendAcked_manyAcksAtOnce(t *testing.T) {
	b := newBed(t)
	var mu sync.Mutex
	handled := make(map[string]bool)
	b.receiver(bus.ReceiverConfig{Tags: tags.Of(1, 2)}, func(m bus.Message) {
		mu.Lock()
		defer mu.Unlock()
		handled[string(m.Data)] = true
	})
	s := b.sender(bus.SenderConfig{Sending: bus.Sending{PageBytes: 1024, QueueBytes: 8192, MaxMessageBytes: 1000}})
	var wg sync.WaitGroup
	for g := range 20 {
		wg.Go(func() {
			for i := range 100 {
				data := fmt.Sprint(g, " ", i)
				if err := s.SendAcked(t.Context(), tags.Tag(1+i%2), []byte(data)); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				ok := handled[data]
				mu.Unlock()
				if !ok {
					t.Errorf("message %s is acknowledged and was not handled", data)
				}
			}
		})
	}
	wg.Wait()
	must(t, s.Drain(t.Context()))
}

// acked sends and returns the *AckError.
func acked(t *testing.T, ctx context.Context, s *sender, tag tags.Tag) *bus.AckError {
	t.Helper()
	err := s.SendAcked(ctx, tag, make([]byte, 100))
	var ack *bus.AckError
	if !errors.As(err, &ack) {
		t.Fatalf("got %v, want an *AckError", err)
	}
	return ack
}

func TestSender_SendAcked_anAckThatDoesNotCome(t *testing.T) {
	soon := func(t *testing.T) context.Context {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		t.Cleanup(cancel)
		return ctx
	}
	tests := []struct {
		name    string
		policy  string
		prepare func(t *testing.T, b *bed, s *sender, r *receiver)
		want    error
		lost    bool
	}{
		{"the deadline ends before", "block", func(_ *testing.T, b *bed, _ *sender, r *receiver) { b.stall(r.host) }, context.DeadlineExceeded, false},
		{"the connection is lost when it was sent", "block", func(_ *testing.T, b *bed, s *sender, r *receiver) {
			b.net.Stall(anyPort(r.host), anybody) // the ack does not come back
			time.AfterFunc(500*time.Millisecond, func() { b.net.Reset(anyPort(s.host), anyPort(r.host)) })
		}, bus.ErrReceiverLost, false},
		{"the connection is lost before it was sent", "block", func(t *testing.T, b *bed, s *sender, r *receiver) {
			t.Helper()
			b.stall(r.host)
			for range 20 { // until it is queued for later
				must(t, s.Send(1, make([]byte, 900)))
				synctest.Wait()
			}
			time.AfterFunc(500*time.Millisecond, func() { b.net.Reset(anyPort(s.host), anyPort(r.host)) })
		}, bus.ErrReceiverLost, true},
		{"the receiver is closed", "block", func(_ *testing.T, b *bed, _ *sender, r *receiver) {
			b.net.SetDelay(anybody, anybody, 10*time.Millisecond)
			time.AfterFunc(time.Millisecond, func() { _ = r.Close() })
		}, bus.ErrReceiverLost, false},
		{"there is no room", "drop-newest", func(t *testing.T, b *bed, s *sender, r *receiver) {
			t.Helper()
			b.stall(r.host)
			fillUp(t, s)
		}, bus.ErrTooSlow, true},
		{"room is made", "drop-oldest", func(t *testing.T, b *bed, s *sender, r *receiver) {
			t.Helper()
			b.stall(r.host)
			fillUp(t, s)
			time.AfterFunc(500*time.Millisecond, func() {
				for range 100 {
					_ = s.Send(1, make([]byte, 900)) // at the end the sender may be closed
				}
			})
		}, bus.ErrTooSlow, true},
		{"the policy leaves it out", "sample:10", func(*testing.T, *bed, *sender, *receiver) {}, bus.ErrLeftOut, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				policy, err := bus.ParsePolicy(test.policy)
				must(t, err)
				r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1), Subscription: bus.SubscriptionConfig{Policy: policy}}, func(bus.Message) {})
				s := b.sender(bus.SenderConfig{Sending: bus.Sending{PageBytes: 1024, QueueBytes: 64 << 10, PoolBytes: 1 << 20, MaxMessageBytes: 1000}, Dialing: bus.Dialing{ReconnectMin: time.Hour}})
				must(t, s.SendContext(t.Context(), 1, nil))
				synctest.Wait()
				test.prepare(t, b, s, r)
				ack := acked(t, soon(t), s, 1)
				if !errors.Is(ack, test.want) || ack.Lost != test.lost || ack.Tag != 1 || ack.Counter < 2 {
					t.Errorf("got %+v, want %v, surely lost: %v", ack, test.want, test.lost)
				}
				if text := ack.Error(); strings.Contains(text, "may or may not") == test.lost {
					t.Errorf("got %q: it must say what is known", text)
				}
				if st := s.Stats(); st.Unacked != 1 || st.Acked != 0 {
					t.Errorf("got %+v, want one not acknowledged", st)
				}
			})
		})
	}
}

// fillUp sends until the receiver's queue can hold no more.
func fillUp(t *testing.T, s *sender) {
	t.Helper()
	for range 200 {
		must(t, s.Send(1, make([]byte, 900)))
	}
	synctest.Wait()
}

func TestSender_SendAcked_allPoliciesAcknowledgeWhatTheyDeliver(t *testing.T) {
	for _, text := range []string{"block", "drop-newest", "drop-oldest", "latest", "sample:1"} {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				policy, err := bus.ParsePolicy(text)
				must(t, err)
				in := make(inbox)
				b.receiver(bus.ReceiverConfig{Tags: tags.Of(1, 2), Subscription: bus.SubscriptionConfig{Policy: policy}}, in.handle)
				s := b.sender(bus.SenderConfig{Sending: bus.Sending{FlushInterval: time.Hour}})
				must(t, s.WaitReceivers(t.Context(), tags.Of(1, 2)))
				for i := range 10 {
					must(t, s.Send(2, nil))
					must(t, s.SendAcked(t.Context(), 1, fmt.Append(nil, i)))
					must(t, s.Send(1, nil)) // begins a new page
				}
				if got := len(in[""].data[1]); got < 19 {
					t.Errorf("got %d messages of tag 1, want 19 or 20", got)
				}
			})
		})
	}
}

func TestSender_SendAcked_aHandlerThatPanicsDoesNotAcknowledge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, func(m bus.Message) {
			if len(m.Data) > 0 {
				panic("no")
			}
		})
		s := b.sender(bus.SenderConfig{})
		must(t, s.SendAcked(t.Context(), 1, nil))
		if ack := acked(t, t.Context(), s, 1); !errors.Is(ack, bus.ErrNotHandled) || ack.Lost {
			t.Errorf("got %v, want ErrNotHandled", ack)
		}
		must(t, s.SendAcked(t.Context(), 1, nil))
		if st := r.Stats(); st.Panics != 1 || st.Messages != 3 {
			t.Errorf("got %+v, want one panic in three messages", st)
		}
	})
}

// TestSender_SendAcked_acksAtTheEnd: those that wait when either side ends in order are answered.
func TestSender_SendAcked_acksAtTheEnd(t *testing.T) {
	for _, end := range []string{"the sender drains", "the receiver drains"} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1)}, func(bus.Message) {})
				s := b.sender(bus.SenderConfig{})
				must(t, s.WaitReceivers(t.Context(), tags.Of(1)))
				b.net.SetDelay(anybody, anybody, 10*time.Millisecond)
				results := make(chan error, 50)
				for range cap(results) {
					go func() { results <- s.SendAcked(t.Context(), 1, nil) }()
				}
				synctest.Wait()
				if end == "the sender drains" {
					must(t, s.Drain(t.Context()))
				} else {
					must(t, r.Drain(t.Context()))
				}
				for range cap(results) {
					must(t, <-results)
				}
			})
		})
	}
}

func TestSender_anUnaskedAck(t *testing.T) {
	ack := &subscription.Ack{Tag: 1, Position: 1 << 40}
	t.Run("a publisher closes the connection", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
			x := &stranger{answer: [][]byte{hello(t, subscription.Hello{Instance: "x", MaxMessageBytes: 1 << 30}), control(t, ack)}}
			backend, _ := b.stranger(x)
			must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
			synctest.Wait()
			if problems := p.of(bus.Problem); len(problems) != 1 || !errors.Is(problems[0].Err, bus.ErrProtocol) || x.closed != 1 {
				t.Errorf("got events %v and %d closed connections", p.events, x.closed)
			}
		})
	})
}
