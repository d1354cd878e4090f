// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"context"
	"errors"
	"io"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/tags"
)

// hookCalls are the methods of one type, called inside an event hook, and what
// they return. Close is not among them: it is called last.
type hookCalls struct {
	of    any
	calls map[string]func() error
}

// check calls each method, and says which ones it does not know.
func (c hookCalls) check(t *testing.T, waits ...string) {
	t.Helper()
	typ := reflect.TypeOf(c.of)
	for i := range typ.NumMethod() {
		name := typ.Method(i).Name
		call := c.calls[name]
		if name == "Close" {
			continue
		}
		if call == nil {
			t.Errorf("%v.%s is not called", typ, name)
			continue
		}
		var want error
		for _, w := range waits {
			if w == name {
				want = bus.ErrOnLoop
			}
		}
		if err := call(); !errors.Is(err, want) {
			t.Errorf("%v.%s inside an event hook: got %v, want %v", typ, name, err, want)
		}
	}
}

// none makes a call of a method that returns no error.
func none[T any](f func() T) func() error { return func() error { f(); return nil } }

// hookBed is one of each type.
type hookBed struct {
	ctx       context.Context
	p         *publisher
	sub       *subscriber
	one       *bus.Subscription
	requester *bus.Requester
	out       *sender
	inbound   *receiver
	hooks     atomic.Int32
	subDone   chan struct{} // subscriber has returned
}

// TestEvent_hooksMayCallEveryMethod calls all methods of the bus's own types, of either
// side, and Close last. Those that would wait for the loop return ErrOnLoop.
func TestEvent_hooksMayCallEveryMethod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, err := newBed(t), error(nil)
		h := &hookBed{ctx: t.Context(), p: b.publisher(bus.PublisherConfig{Tags: tags.Of(1, 2)}), sub: b.subscriber(bus.SubscriberConfig{}), subDone: make(chan struct{})}
		h.inbound = b.receiver(bus.ReceiverConfig{Tags: tags.Of(7)}, nil)
		h.out = b.sender(bus.SenderConfig{Tags: tags.Of(7)})
		must(t, h.out.WaitReceivers(h.ctx, tags.Of(7)))
		h.requester, err = bus.NewRequester(h.out.Sender, h.sub.Subscriber, bus.RequesterConfig{Command: 7, Reply: 1})
		must(t, err)
		h.one, err = h.sub.SubscribeWith(tags.Of(1), nil, bus.SubscriptionConfig{Batches: true})
		must(t, err)
		must(t, h.one.Wait(h.ctx))
		synctest.Wait()
		h.p.when(bus.Lost, func() { h.publisher(t) })
		h.sub.when(bus.Lost, func() { h.subscriber(t) })
		h.out.when(bus.Lost, func() { h.sender(t) })
		h.inbound.when(bus.Lost, func() { h.receiver(t) })
		b.net.Reset(anybody, anybody)
		time.Sleep(time.Second)
		if synctest.Wait(); h.hooks.Load() != 4 {
			t.Errorf("got %d hooks, want 4", h.hooks.Load())
		}
	})
}

// publisher calls all of a Publisher.
func (h *hookBed) publisher(t *testing.T) {
	t.Helper()
	h.hooks.Add(1)
	hookCalls{h.p.Publisher, map[string]func() error{
		"Publish":              func() error { return h.p.Publish(1, nil) },
		"PublishStatus":        func() error { return h.p.PublishStatus(1, 1, nil) },
		"PublishContext":       func() error { return h.p.PublishContext(h.ctx, 1, nil) }, // there is room
		"PublishStatusContext": func() error { return h.p.PublishStatusContext(h.ctx, 1, 1, nil) },
		"Tag":                  func() error { return h.p.Tag(1).PublishContext(h.ctx, nil) },
		"PublishBatch":         func() error { _, err := h.p.PublishBatch([]bus.Message{{Tag: 1}}); return err },
		"PublishRows":          func() error { _, err := h.p.PublishRows([]bus.Row{{Tag: 1}}); return err },
		"PublishBatchContext":  func() error { _, err := h.p.PublishBatchContext(h.ctx, []bus.Message{{Tag: 1}}); return err },
		"Loan": func() error {
			l, err := h.p.Loan(1, 1<<12)
			if err == nil {
				err = l.Publish(0)
			}
			return err
		},
		"LoanContext": func() error {
			l, err := h.p.LoanContext(h.ctx, 1, 1<<12)
			l.Abort()
			return err
		},
		"PublishZeroCopy": func() error { return h.p.PublishZeroCopy(1, 0, make([]byte, 1<<17), func() {}) },
		"PublishZeroCopyContext": func() error {
			return h.p.PublishZeroCopyContext(h.ctx, 1, 0, make([]byte, 1<<17), func() {})
		},
		"Reply":           func() error { return h.p.Reply(bus.RequestID{}, 1, 0, nil) },
		"ReplyContext":    func() error { return h.p.ReplyContext(h.ctx, bus.RequestID{}, 1, 0, nil) },
		"AddTags":         func() error { return h.p.AddTags(tags.Of(3)) },
		"RemoveTags":      func() error { return h.p.RemoveTags(tags.Of(3)) },
		"WaitSubscribers": func() error { return h.p.WaitSubscribers(h.ctx, 9, tags.Of(2)) },
		"Drain":           func() error { return h.p.Drain(h.ctx) },
		"DrainFailed":     func() error { return h.p.DrainFailed(h.ctx, io.ErrUnexpectedEOF) },
		"State":           func() error { _, err := h.p.State(h.ctx, everything); return err },
		"Addr":            none(h.p.Addr), "Instance": none(h.p.Instance), "Stats": none(h.p.Stats), "Tags": none(h.p.Tags),
		"Flush":     func() error { h.p.Flush(); return nil },
		"TagLosses": func() error { h.p.TagLosses(h.sub.Instance()); return nil },
	}}.check(t, "WaitSubscribers", "Drain", "DrainFailed")
	<-h.subDone // without a publisher it has nothing to wait for
	must(t, h.p.Close())
}

// subscriber calls all of a Subscription, a Requester and a Subscriber.
func (h *hookBed) subscriber(t *testing.T) {
	t.Helper()
	h.hooks.Add(1)
	hookCalls{h.one, map[string]func() error{
		"Add":    func() error { return h.one.Add(tags.Of(2)) },
		"Remove": func() error { return h.one.Remove(tags.Of(2)) },
		"Handle": func() error { return h.one.Handle(1, nil) },
		"Pause":  func() error { h.one.Pause(); return nil },
		"Resume": func() error { h.one.Resume(); return nil },
		"Tags":   none(h.one.Tags), "Overflowed": none(h.one.Overflowed),
		"Wait":        func() error { return h.one.Wait(h.ctx) },
		"Unsubscribe": func() error { return h.one.Unsubscribe(h.ctx) },
		"Messages": func() (err error) {
			for _, err = range h.one.Messages(h.ctx) {
				break
			}
			return err
		},
		"Batches": func() (err error) {
			for _, err = range h.one.Batches(h.ctx) {
				break
			}
			return err
		},
		"TakeBatch":     func() error { return noBatch(h.one.TakeBatch()) },
		"ReadBatch":     func() error { return noBatch(h.one.ReadBatch()) },
		"NotifyBatches": func() error { h.one.NotifyBatches(func() {}); return nil },
		"Ended":         none(h.one.Ended),
	}}.check(t, "Wait", "Unsubscribe", "Messages", "Batches")
	must(t, h.one.Close())
	hookCalls{h.requester, map[string]func() error{
		"Request": func() error { _, err := h.requester.Request(h.ctx, nil); return err },
		"Stats":   none(h.requester.Stats),
	}}.check(t, "Request")
	must(t, h.requester.Close())
	hookCalls{h.sub.Subscriber, map[string]func() error{
		"Subscribe": func() error { _, err := h.sub.Subscribe(tags.Of(1), ignore); return err },
		"SubscribeWith": func() error {
			_, err := h.sub.SubscribeWith(tags.Of(1), ignore, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.Latest}})
			return err
		},
		"SubscribeBatch": func() error {
			_, err := h.sub.SubscribeBatch(tags.Of(1), func([]bus.Message) {}, bus.SubscriptionConfig{})
			return err
		},
		"SubscribePages": func() error {
			_, err := h.sub.SubscribePages(tags.Of(1), func(bus.Batch) {}, bus.SubscriptionConfig{})
			return err
		},
		"State": func() error { _, err := h.sub.State(h.ctx, everything); return err },
		"Stats": none(h.sub.Stats), "Instance": none(h.sub.Instance),
		"TagStats":     func() error { _, err := h.sub.TagStats(h.ctx); return err },
		"TagPositions": func() error { _, err := h.sub.TagPositions(h.ctx); return err },
		"Offers":       func() error { _, err := h.sub.Offers(h.ctx, tags.Of(1)); return err },
	}}.check(t)
	must(t, h.sub.Close())
	close(h.subDone)
}

// noBatch takes that there is none for no error.
func noBatch(_ bus.Batch, err error) error {
	if errors.Is(err, bus.ErrNoBatch) {
		return nil
	}
	return err
}

// sender calls all of a Sender.
func (h *hookBed) sender(t *testing.T) {
	t.Helper()
	h.hooks.Add(1)
	noReceiver := func(err error) error {
		if !errors.Is(err, bus.ErrNoReceiver) {
			return errors.Join(errors.New("want ErrNoReceiver"), err)
		}
		return nil
	}
	hookCalls{h.out.Sender, map[string]func() error{
		"Send":              func() error { return noReceiver(h.out.Send(7, nil)) },
		"SendStatus":        func() error { return noReceiver(h.out.SendStatus(7, 1, nil)) },
		"SendContext":       func() error { return h.out.SendContext(h.ctx, 7, nil) },
		"SendStatusContext": func() error { return h.out.SendStatusContext(h.ctx, 7, 1, nil) },
		"SendAcked":         func() error { return h.out.SendAcked(h.ctx, 7, nil) },
		"SendStatusAcked":   func() error { return h.out.SendStatusAcked(h.ctx, 7, 1, nil) },
		"WaitReceivers":     func() error { return h.out.WaitReceivers(h.ctx, tags.Of(7)) },
		"Drain":             func() error { return h.out.Drain(h.ctx) },
		"DrainFailed":       func() error { return h.out.DrainFailed(h.ctx, io.ErrUnexpectedEOF) },
		"State":             func() error { _, err := h.out.State(h.ctx, everything); return err },
		"Instance":          none(h.out.Instance), "Stats": none(h.out.Stats),
		"Flush":     func() error { h.out.Flush(); return nil },
		"TagLosses": func() error { h.out.TagLosses(h.inbound.Instance()); return nil },
		"Offers":    func() error { _, err := h.out.Offers(h.ctx, tags.Of(7)); return err },
	}}.check(t, "SendContext", "SendStatusContext", "SendAcked", "SendStatusAcked", "WaitReceivers", "Drain", "DrainFailed")
	must(t, h.out.Close())
}

// receiver calls all of a Receiver.
func (h *hookBed) receiver(t *testing.T) {
	t.Helper()
	h.hooks.Add(1)
	hookCalls{h.inbound.Receiver, map[string]func() error{
		"State": func() error { _, err := h.inbound.State(h.ctx, everything); return err },
		"Addr":  none(h.inbound.Addr), "Instance": none(h.inbound.Instance), "Stats": none(h.inbound.Stats), "Tags": none(h.inbound.Tags),
		"TagStats": func() error { _, err := h.inbound.TagStats(h.ctx); return err },
		"Drain":    func() error { return h.inbound.Drain(h.ctx) },
		"Messages": func() (err error) {
			for _, err = range h.inbound.Messages(h.ctx) {
				break
			}
			return err
		},
		"Subscription": none(h.inbound.Subscription),
	}}.check(t, "Drain", "Messages")
	must(t, h.inbound.Close())
}
