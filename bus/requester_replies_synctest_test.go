// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// asked is what came of a Request.
type asked struct {
	reply string
	err   error
}

// ask begins a Request.
func ask(t *testing.T, r *bus.Requester, command string) <-chan asked {
	t.Helper()
	done := make(chan asked, 1)
	go func() {
		m, err := r.Request(t.Context(), []byte(command))
		done <- asked{string(m.Data), err}
	}()
	return done
}

// askers is a device that keeps what it is asked for, and is told when to answer.
type askers struct {
	*receiver
	replies *publisher

	mu  sync.Mutex
	ids []bus.RequestID
}

func (b *bed) askers() *askers {
	b.tb.Helper()
	d := &askers{replies: b.publisher(bus.PublisherConfig{Tags: tags.Of(replyTag)})}
	d.receiver = b.receiver(bus.ReceiverConfig{Tags: tags.Of(commandTag)}, func(m bus.Message) {
		d.mu.Lock()
		d.ids = append(d.ids, m.RequestID())
		d.mu.Unlock()
	})
	return d
}

// reply answers the request that came as number i, from 0 on.
func (d *askers) reply(t *testing.T, i int, data string) {
	t.Helper()
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	must(t, d.replies.Reply(d.ids[i], replyTag, 0, []byte(data)))
}

func wantReply(t *testing.T, done <-chan asked, want string) {
	t.Helper()
	if got := <-done; got.err != nil || got.reply != want {
		t.Errorf("got %q, %v want %q", got.reply, got.err, want)
	}
}

func wantRequests(t *testing.T, r *bus.Requester, want bus.RequesterStats) {
	t.Helper()
	time.Sleep(time.Millisecond) // until all that was published has come
	if got := r.Stats(); got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}

// Two requesters of one device send the same commands, and the device answers in another
// order: each gets its own replies.
func TestRequester_twoOfOneDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		d := b.askers()
		first, _, _ := b.requester(bus.RequesterConfig{})
		second, _, _ := b.requester(bus.RequesterConfig{})
		var all []<-chan asked
		for _, r := range []*bus.Requester{first, second, first, second} {
			all = append(all, ask(t, r, "read"))
			synctest.Wait() // so that the device knows which is which
		}
		for _, i := range []int{3, 0, 2, 1} {
			d.reply(t, i, fmt.Sprint("to ", i))
		}
		for i, done := range all {
			wantReply(t, done, fmt.Sprint("to ", i))
		}
		want := bus.RequesterStats{Requests: 2, Replies: 2, Others: 2}
		wantRequests(t, first, want)
		wantRequests(t, second, want)
	})
}

// A reply comes after its request has ended, while one with the same bytes waits, as after
// a retry.
func TestRequester_aLateReplyIsNotMistakenForAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		d := b.askers()
		r, _, _ := b.requester(bus.RequesterConfig{Timeout: time.Second})
		if got := <-ask(t, r, "read"); !errors.Is(got.err, bus.ErrNoReply) {
			t.Errorf("got %+v, want ErrNoReply", got)
		}
		again := ask(t, r, "read")
		d.reply(t, 0, "late")
		wantRequests(t, r, bus.RequesterStats{Requests: 2, Late: 1, Waiting: 1})
		d.reply(t, 1, "in time")
		wantReply(t, again, "in time")
		wantRequests(t, r, bus.RequesterStats{Requests: 2, Replies: 1, Late: 1})
	})
}

func TestRequester_aSecondReplyIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		d := b.askers()
		r, _, _ := b.requester(bus.RequesterConfig{Timeout: time.Second})
		first := ask(t, r, "read")
		d.reply(t, 0, "a")
		wantReply(t, first, "a")
		second := ask(t, r, "read")
		d.reply(t, 0, "a again")
		d.reply(t, 1, "b")
		wantReply(t, second, "b")
		if got := <-ask(t, r, "read"); !errors.Is(got.err, bus.ErrNoReply) {
			t.Errorf("got %+v, want ErrNoReply", got)
		}
		d.reply(t, 2, "late")
		d.reply(t, 2, "late again")
		wantRequests(t, r, bus.RequesterStats{Requests: 3, Replies: 2, Late: 1, Duplicates: 2})
	})
}

// A device ends with a command that it has not answered, and another run of it comes.
func TestRequester_aDeviceThatRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		old := b.askers()
		r, _, _ := b.requester(bus.RequesterConfig{Timeout: 10 * time.Second})
		lost := ask(t, r, "read")
		synctest.Wait()
		must(t, old.Close())
		must(t, old.replies.Close())
		synctest.Wait()
		anew := b.askers()
		next := ask(t, r, "read")
		time.Sleep(6 * time.Second) // until it is found
		anew.reply(t, 0, "of the new run")
		wantReply(t, next, "of the new run")
		if got := <-lost; !errors.Is(got.err, bus.ErrNoReply) {
			t.Errorf("the command of the old run: got %+v, want ErrNoReply", got)
		}
		wantRequests(t, r, bus.RequesterStats{Requests: 2, Replies: 1})
	})
}

// A requester that ends, and another that takes its place, do not share ids.
func TestRequester_doesNotGetTheRepliesOfOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		d := b.askers()
		old, s, sub := b.requester(bus.RequesterConfig{})
		closed := ask(t, old, "read")
		synctest.Wait()
		must(t, old.Close())
		if got := <-closed; !errors.Is(got.err, bus.ErrClosed) || !errors.Is(got.err, bus.ErrNoReply) {
			t.Errorf("got %+v, want ErrClosed", got)
		}
		r, err := bus.NewRequester(s.Sender, sub.Subscriber, bus.RequesterConfig{Command: commandTag, Reply: replyTag})
		must(t, err)
		done := ask(t, r, "read")
		d.reply(t, 0, "to the one before")
		d.reply(t, 1, "mine")
		wantReply(t, done, "mine")
		wantRequests(t, r, bus.RequesterStats{Requests: 1, Replies: 1, Others: 1})
	})
}

func TestRequester_aReplyWithoutID(t *testing.T) {
	t.Run("answers nothing, and the error says what to do", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			b.oldDevice()
			r, _, _ := b.requester(bus.RequesterConfig{Timeout: time.Second})
			_, err := r.Request(t.Context(), []byte("10ms a"))
			var none *bus.NoReplyError
			if !errors.As(err, &none) || none.WithoutID != 1 {
				t.Fatalf("got %v, want a *NoReplyError with one message without id", err)
			}
			const want = "bus: request to 0x0000000000000001: no reply on 0x0000000000000002 after 1s: context deadline exceeded: " +
				"the command may or may not have been carried out; messages without a request's id that came there: 1: " +
				"have the device answer by Publisher.Reply, or set RequesterConfig.Match"
			if err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			wantRequests(t, r, bus.RequesterStats{Requests: 1, WithoutID: 1})
		})
	})
	t.Run("answers what Match says, and an id still comes first", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			d := b.askers()
			r, _, _ := b.requester(bus.RequesterConfig{Match: whole})
			a := ask(t, r, "a")
			synctest.Wait()
			c := ask(t, r, "c")
			d.reply(t, 1, "re: a") // to c, whatever it looks like
			wantReply(t, c, "re: a")
			must(t, d.replies.Publish(replyTag, []byte("re: c"))) // c has its reply
			must(t, d.replies.Publish(replyTag, []byte("re: a")))
			wantReply(t, a, "re: a")
			d.reply(t, 0, "by id")
			wantRequests(t, r, bus.RequesterStats{Requests: 2, Replies: 2, Duplicates: 1, WithoutID: 1})
		})
	})
	t.Run("is what Reply makes for a command without id", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBed(t)
			b.device()
			s, sub := b.sender(bus.SenderConfig{}), b.subscriber(bus.SubscriberConfig{})
			got := make(chan string, 1)
			in, err := sub.Subscribe(tags.Of(replyTag), func(m bus.Message) { got <- fmt.Sprintf("%s, id %v", m.Data, m.RequestID()) })
			must(t, err)
			must(t, in.Wait(t.Context()))
			must(t, s.SendContext(t.Context(), commandTag, []byte("0s")))
			if text := <-got; text != "re: 0s, id none" {
				t.Errorf("got %s", text)
			}
		})
	})
}
