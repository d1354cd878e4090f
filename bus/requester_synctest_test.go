// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

const commandTag, replyTag = tags.Tag(1), tags.Tag(2)

// device carries out commands: it answers each after the time that it names,
// for example "3s what".
type device struct {
	*receiver
	replies *publisher
}

func (b *bed) device() *device {
	d := &device{replies: b.publisher(bus.PublisherConfig{Tags: tags.Of(replyTag)})}
	d.receiver = b.receiver(bus.ReceiverConfig{Tags: tags.Of(commandTag)}, func(m bus.Message) {
		name, _, _ := bytes.Cut(m.Data, []byte(" "))
		after, err := time.ParseDuration(string(name))
		if err != nil {
			return // it does not answer
		}
		answer := "re: " + string(m.Data)
		time.AfterFunc(after, func() { must(b.tb, d.replies.Publish(replyTag, []byte(answer))) })
	})
	return d
}

func (b *bed) requester(cfg bus.RequesterConfig) (*bus.Requester, *sender, *subscriber) {
	b.tb.Helper()
	cfg.Command, cfg.Reply = commandTag, replyTag
	s, sub := b.sender(bus.SenderConfig{}), b.subscriber(bus.SubscriberConfig{})
	r, err := bus.NewRequester(s.Sender, sub.Subscriber, cfg)
	must(b.tb, err)
	return r, s, sub
}

// whole matches a reply of a device with its command.
func whole(command []byte, reply bus.Message) bool {
	return string(reply.Data) == "re: "+string(command)
}

func TestARequestIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.device()
		r, _, _ := b.requester(bus.RequesterConfig{})
		for i := range 10 {
			command := fmt.Sprint("10ms ", i)
			start := time.Now()
			m, err := r.Request(t.Context(), []byte(command))
			must(t, err)
			if string(m.Data) != "re: "+command || m.Tag != replyTag || m.Counter != uint64(i+1) {
				t.Errorf("got %+v, want the answer to %q", m, command)
			}
			if d := time.Since(start); d > 20*time.Millisecond {
				t.Errorf("took %v, want about 10ms", d)
			}
		}
		if st := r.Stats(); st != (bus.RequesterStats{Requests: 10, Replies: 10}) {
			t.Errorf("got %+v", st)
		}
	})
}

func TestARequestWithoutReply(t *testing.T) {
	tests := []struct {
		name    string
		timeout time.Duration
		ctx     time.Duration
		want    time.Duration
	}{
		{"ends after the default time", 0, time.Hour, 5 * time.Second},
		{"ends after its own time", time.Second, time.Hour, time.Second},
		{"ends with the context", time.Minute, 2 * time.Second, 2 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				b.device()
				r, _, _ := b.requester(bus.RequesterConfig{Timeout: test.timeout})
				_, err := r.Request(t.Context(), []byte("0s")) // all are connected
				must(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), test.ctx)
				defer cancel()
				start := time.Now()
				_, err = r.Request(ctx, []byte("never"))
				var none *bus.NoReplyError
				if !errors.As(err, &none) || !errors.Is(err, bus.ErrNoReply) || !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("got %v, want a *NoReplyError", err)
				}
				if none.After != test.want || time.Since(start) != test.want || none.Command != commandTag || none.Reply != replyTag {
					t.Errorf("got %+v after %v, want %v", none, time.Since(start), test.want)
				}
			})
		})
	}
}

func TestALateReplyIsNotMistakenForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.device()
		r, _, _ := b.requester(bus.RequesterConfig{Timeout: time.Second, Match: whole})
		if _, err := r.Request(t.Context(), []byte("1500ms a")); !errors.Is(err, bus.ErrNoReply) {
			t.Errorf("got %v, want ErrNoReply", err)
		}
		m, err := r.Request(t.Context(), []byte("900ms b")) // the late one comes first
		must(t, err)
		if string(m.Data) != "re: 900ms b" {
			t.Errorf("got %q", m.Data)
		}
		if st := r.Stats(); st != (bus.RequesterStats{Requests: 2, Replies: 1, Late: 1}) {
			t.Errorf("got %+v, want one late reply", st)
		}
	})
}

// TestWithoutMatchALateReplyPassesForTheNext is what RequesterConfig.Match says.
func TestWithoutMatchALateReplyPassesForTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.device()
		r, _, _ := b.requester(bus.RequesterConfig{Timeout: time.Second})
		for _, command := range []string{"1200ms a", "1500ms b"} {
			if _, err := r.Request(t.Context(), []byte(command)); command == "1200ms a" && !errors.Is(err, bus.ErrNoReply) {
				t.Errorf("got %v, want ErrNoReply", err)
			} else if command == "1500ms b" {
				must(t, err) // with the reply to a
			}
		}
		time.Sleep(10 * time.Second) // in which the reply to b is late
		m, err := r.Request(t.Context(), []byte("0s c"))
		must(t, err)
		if string(m.Data) != "re: 0s c" {
			t.Errorf("got %q, want the reply to c", m.Data)
		}
		if st := r.Stats(); st != (bus.RequesterStats{Requests: 3, Replies: 2, Late: 1}) {
			t.Errorf("got %+v, want one late reply", st)
		}
	})
}

func TestRequestsAtOnce(t *testing.T) {
	tests := []struct {
		name  string
		match func([]byte, bus.Message) bool
		want  time.Duration
	}{
		{"with Match they overlap, and replies come in any order", whole, time.Second},
		{"without Match they take turns", nil, 5500 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				b.device()
				r, _, _ := b.requester(bus.RequesterConfig{Timeout: time.Minute, Match: test.match})
				_, err := r.Request(t.Context(), []byte("0s"))
				must(t, err)
				start := time.Now()
				var wg sync.WaitGroup
				for i := range 10 {
					wg.Go(func() {
						command := fmt.Sprintf("%dms %d", 1000-100*i, i)
						m, err := r.Request(t.Context(), []byte(command))
						if err != nil || string(m.Data) != "re: "+command {
							t.Errorf("got %q, %v, want the answer to %q", m.Data, err, command)
						}
					})
				}
				wg.Wait()
				if got := time.Since(start); got < test.want || got > test.want+100*time.Millisecond {
					t.Errorf("took %v, want about %v", got, test.want)
				}
			})
		})
	}
}

func TestARequestThatCannotBeSent(t *testing.T) {
	t.Run("the replies have no publisher", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			b.receiver(bus.ReceiverConfig{Tags: tags.Of(commandTag)}, func(bus.Message) { t.Error("the command was sent") })
			r, _, _ := b.requester(bus.RequesterConfig{})
			if _, err := r.Request(t.Context(), nil); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, bus.ErrNoReply) {
				t.Errorf("got %v, want DeadlineExceeded", err)
			}
		})
	})
	t.Run("the command tag has no owner", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			b.publisher(bus.PublisherConfig{Tags: tags.Of(replyTag)})
			r, _, _ := b.requester(bus.RequesterConfig{})
			if _, err := r.Request(t.Context(), nil); !errors.Is(err, bus.ErrNoReceiver) || errors.Is(err, bus.ErrNoReply) {
				t.Errorf("got %v, want ErrNoReceiver", err)
			}
			if st := r.Stats(); st != (bus.RequesterStats{}) {
				t.Errorf("got %+v", st)
			}
		})
	})
	t.Run("another one has the turn", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			b.device()
			r, _, _ := b.requester(bus.RequesterConfig{Timeout: time.Hour})
			go func() { _, _ = r.Request(t.Context(), []byte("never")) }()
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := r.Request(ctx, []byte("0s")); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, bus.ErrNoReply) {
				t.Errorf("got %v, want DeadlineExceeded", err)
			}
			must(t, r.Close())
		})
	})
	t.Run("on the loop", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			b.device()
			r, s, sub := b.requester(bus.RequesterConfig{})
			for _, m := range []*member{s.member, sub.member} {
				got := make(chan error)
				m.loop.Post(func() {
					_, err := r.Request(t.Context(), nil)
					got <- err
				})
				if err := <-got; !errors.Is(err, bus.ErrOnLoop) {
					t.Errorf("got %v, want ErrOnLoop", err)
				}
			}
		})
	})
	t.Run("a bad configuration", func(t *testing.T) {
		if _, err := bus.NewRequester(nil, nil, bus.RequesterConfig{Timeout: -1}); !errors.Is(err, bus.ErrInvalidConfig) {
			t.Errorf("got %v, want ErrInvalidConfig", err)
		}
	})
}

func TestCloseEndsTheRequestsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.device()
		r, _, sub := b.requester(bus.RequesterConfig{Match: whole})
		results := make(chan error, 2)
		ask := func() { _, err := r.Request(t.Context(), []byte("never")); results <- err }
		go ask()
		go ask()
		synctest.Wait()
		must(t, r.Close())
		for range 2 {
			if err := <-results; !errors.Is(err, bus.ErrClosed) || !errors.Is(err, bus.ErrNoReply) {
				t.Errorf("got %v, want ErrClosed, and that the command was sent", err)
			}
		}
		if _, err := r.Request(t.Context(), nil); !errors.Is(err, bus.ErrClosed) || errors.Is(err, bus.ErrNoReply) {
			t.Errorf("after it: got %v, want ErrClosed", err)
		}
		must(t, sub.Close())
	})
}
