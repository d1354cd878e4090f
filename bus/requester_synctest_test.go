// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
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
	b.tb.Helper()
	return b.deviceThat(func(d *device, to bus.RequestID, data []byte) {
		must(b.tb, d.replies.Reply(to, replyTag, 0, data))
	})
}

// oldDevice is a device that does not give back the ids of requests.
func (b *bed) oldDevice() *device {
	b.tb.Helper()
	return b.deviceThat(func(d *device, _ bus.RequestID, data []byte) {
		must(b.tb, d.replies.Publish(replyTag, data))
	})
}

func (b *bed) deviceThat(reply func(d *device, to bus.RequestID, data []byte)) *device {
	b.tb.Helper()
	d := &device{replies: b.publisher(bus.PublisherConfig{Tags: tags.Of(replyTag)})}
	d.receiver = b.receiver(bus.ReceiverConfig{Tags: tags.Of(commandTag)}, func(m bus.Message) {
		name, _, _ := bytes.Cut(m.Data, []byte(" "))
		after, err := time.ParseDuration(string(name))
		if err != nil {
			return // it does not answer
		}
		answer, to := "re: "+string(m.Data), m.RequestID()
		time.AfterFunc(after, func() { reply(d, to, []byte(answer)) })
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

func TestRequester_Request_isAnswered(t *testing.T) {
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

func TestRequester_Request_withoutReply(t *testing.T) {
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

func TestRequester_Request_manyAtOnce(t *testing.T) {
	tests := []struct {
		name   string
		device func(*bed) *device
		match  func([]byte, bus.Message) bool
	}{
		{"a reply names its request", (*bed).device, nil},
		{"Match finds the request of a reply that names none", (*bed).oldDevice, whole},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				test.device(b)
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
				if got := time.Since(start); got < time.Second || got > time.Second+100*time.Millisecond {
					t.Errorf("took %v, want about 1s: requests wait together", got)
				}
			})
		})
	}
}

func TestRequester_Request_thatCannotBeSent(t *testing.T) {
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
	t.Run("too many wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			b.device()
			r, _, _ := b.requester(bus.RequesterConfig{MaxWaiting: 2})
			for range 2 {
				go func() { _, _ = r.Request(t.Context(), []byte("never")) }()
			}
			synctest.Wait()
			const want = "bus: request to 0x0000000000000001: too many requests without reply: 2 wait: wait for replies, or raise RequesterConfig.MaxWaiting"
			if _, err := r.Request(t.Context(), []byte("0s")); !errors.Is(err, bus.ErrTooManyRequests) || err.Error() != want {
				t.Errorf("got %v\nwant %s", err, want)
			}
			if st := r.Stats(); st.Waiting != 2 || st.Requests != 2 {
				t.Errorf("got %+v, want two that wait", st)
			}
			time.Sleep(6 * time.Second) // until these have ended
			_, err := r.Request(t.Context(), []byte("0s"))
			must(t, err)
		})
	})
	t.Run("too large", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			b.device()
			r, _, _ := b.requester(bus.RequesterConfig{})
			var refused *bus.PublishError
			if _, err := r.Request(t.Context(), make([]byte, 1<<20-16)); !errors.As(err, &refused) || !errors.Is(err, bus.ErrMessageTooLarge) ||
				refused.Bytes != 1<<20-16 || refused.Limit != 1<<20-17 || !strings.HasPrefix(err.Error(), "bus: send ") {
				t.Errorf("got %v, want ErrMessageTooLarge of 1,048,560 bytes, limit 1,048,559", err)
			}
			if _, err := r.Request(t.Context(), make([]byte, 1<<20-17)); !errors.Is(err, bus.ErrNoReply) {
				t.Errorf("got %v, want that it is sent", err)
			}
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
		for _, cfg := range []bus.RequesterConfig{{Timeout: -1}, {MaxWaiting: -1}, {MaxWaiting: 1<<16 + 1}} {
			if _, err := bus.NewRequester(nil, nil, cfg); !errors.Is(err, bus.ErrInvalidConfig) {
				t.Errorf("%+v: got %v, want ErrInvalidConfig", cfg, err)
			}
		}
	})
}

func TestRequester_Close_endsTheRequestsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		b.device()
		r, _, sub := b.requester(bus.RequesterConfig{})
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
