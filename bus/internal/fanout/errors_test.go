// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"testing"

	"tagbus/bus/internal/ledger"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// newFanout returns a fanout that serves the tags 1 to 3, with a pool of one page.
func newFanout(t *testing.T) *Fanout { return newFanoutOf(t, 1) }

// newFanoutOf is newFanout with some pages.
func newFanoutOf(t *testing.T, pages int) *Fanout {
	t.Helper()
	const pageBytes = 4096
	pool, err := netio.NewPool(pages, pageBytes)
	if err != nil {
		t.Fatal(err)
	}
	fan := &Fanout{loop: &modelLoop{}}
	fan.Init(Config{
		Served: tags.Of(1, 2, 3), Pool: pool, PageBytes: pageBytes, QueueBytes: pageBytes, MaxMessageBytes: 100,
		First: func(tags.Tag) {},
	})
	t.Cleanup(func() {
		if err := fan.Free(); err != nil {
			t.Error(err)
		}
	})
	return fan
}

func TestPublishSaysWhyAMessageIsRefused(t *testing.T) {
	fan := newFanout(t)
	publish := func(tag tags.Tag, bytes int, want error) {
		t.Helper()
		if err := fan.Publish(tag, 0, make([]byte, bytes), nil); !errors.Is(err, want) {
			t.Errorf("%d bytes of tag %v: got %v, want %v", bytes, tag, err, want)
		}
	}
	publish(1, 100, nil)
	publish(1, 101, ErrTooLarge)
	publish(10, 1, ErrUnknownTag)
	if err := fan.Retire(tags.Of(2, 3), tags.Of(1)); err != nil {
		t.Fatal(err)
	}
	publish(1, 1, ErrUnknownTag)
	fan.Serve(tags.Of(1))
	publish(1, 1, nil)
	if n := fan.Count(1); n != 2 {
		t.Errorf("tag 1 is at %d, want 2", n)
	}
	fan.Mu.Lock()
	fan.Stop()
	fan.Mu.Unlock()
	publish(1, 1, ErrStopped)
	publish(2, 1, ErrStopped)
	if err := fan.Retire(tags.Of(2), tags.Of(1)); !errors.Is(err, ErrStopped) {
		t.Errorf("Retire: got %v, want %v", err, ErrStopped)
	}
}

func TestOpenRefusesWhatHasNoRoom(t *testing.T) {
	fan := newFanout(t)
	s := &stream{fan: fan}
	if err := fan.open(askFor(5000), s); !errors.Is(err, ErrNoRoom) || !fan.dry.Load() || !fan.wantReady.Load() {
		t.Errorf("got %v, dry %v, ready wanted %v; want %v and both", err, fan.dry.Load(), fan.wantReady.Load(), ErrNoRoom)
	}
	if err := fan.open(askFor(10), s); err != nil {
		t.Fatal(err)
	}
	s.page.refs.Store(1)
	if fan.release(s.page); fan.dry.Load() {
		t.Error("the release of the page overlooks the refusal")
	}
}

func TestAnOutboxReportsFaults(t *testing.T) {
	fan := newFanout(t)
	var box Outbox
	var fault error
	box.Init(fan, &modelEndpoint{refuses: true}, func(err error) { fault = err })
	if box.Completed(1); !errors.Is(fault, ErrCompletion) {
		t.Errorf("a completion of nothing: got %v, want %v", fault, ErrCompletion)
	}
	fault = nil
	for range maxControlQueue / controlCost {
		box.Send(nil, &subscription.Beat{})
	}
	fan.loop.(*modelLoop).turn()
	if !errors.Is(fault, ErrOverflow) {
		t.Errorf("control messages that are not read: got %v, want %v", fault, ErrOverflow)
	}
}

func TestAReceiptIsSettledOnce(t *testing.T) {
	fan := newFanout(t)
	var box Outbox
	box.Init(fan, &modelEndpoint{refuses: true}, func(err error) { t.Error(err) })
	receipts := make([]*Receipt, 4)
	for i := range receipts {
		receipts[i] = NewReceipt(1)
		receipts[i].position = uint64(i + 1)
		box.expect(receipts[i])
	}
	box.settle(1, 1, false)
	box.settle(1, 3, true)
	box.Kill()
	for done := false; !done; {
		_, done = box.Bury(1)
	}
	box.settle(1, 4, false) // too late
	for i, want := range []error{nil, nil, ErrNotHandled, ErrLost} {
		position, lost, err := receipts[i].Wait(t.Context())
		if !errors.Is(err, want) || lost || position != uint64(i+1) {
			t.Errorf("message %d: got %v at %d, lost %v; want %v", i+1, err, position, lost, want)
		}
	}
	if !box.Dead() {
		t.Error("the outbox is not dead after Kill")
	}
}

func TestOutbox_MayTake_andCommon(t *testing.T) {
	fan := newFanout(t)
	var box Outbox
	box.Init(fan, &modelEndpoint{}, func(err error) { t.Error(err) })
	block, latest := subscription.Policy{}, subscription.Policy{Kind: subscription.Latest}
	var book ledger.Book[int, int]
	account := book.Open("x", 1, 0, 3, block, 2, func(uint16) bool { return false })
	box.subs[7] = box.open(3, block, 0, account)
	fan.Mu.Lock()
	if err := fan.table.Subscribe(box.subs[7].id, 7, tags.Of(1, 2)); err != nil {
		t.Fatal(err)
	}
	if both, some := box.Common(tags.Of(2, 3)); !some || !both.Equal(tags.Of(2)) {
		t.Errorf("common: got %v, %v; want tag 2", both, some)
	}
	if both, some := box.Common(tags.Of(3)); some {
		t.Errorf("common: got %v, want none", both)
	}
	fan.Mu.Unlock()
	for _, test := range []struct {
		name   string
		ask    subscription.Subscribe
		policy subscription.Policy
		most   int
		want   string
	}{
		{"another subscription in the lane", subscription.Subscribe{ID: 8, Lane: 3}, block, 1, ""},
		{"the same again", subscription.Subscribe{ID: 7, Lane: 3}, block, 1, ""},
		{"another lane", subscription.Subscribe{ID: 8, Lane: 4}, latest, 2, ""},
		{"one lane too many", subscription.Subscribe{ID: 8, Lane: 4}, latest, 1, "more than 1 lanes"},
		{"another lane for the same", subscription.Subscribe{ID: 7, Lane: 4}, block, 2, "subscription 7 moved to lane 4"},
		{"another policy in the lane", subscription.Subscribe{ID: 8, Lane: 3}, latest, 2, "lane 3 has the policy block, and then latest"},
	} {
		got := ""
		if err := box.MayTake(&test.ask, test.policy, test.most); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	box.Kill()
}

func TestOutbox_Acked_noMessageThatIsNot(t *testing.T) {
	fan := newFanout(t)
	var box Outbox
	box.Init(fan, &modelEndpoint{}, func(err error) { t.Error(err) })
	if err := box.Acked(&subscription.Ack{Tag: 1, Position: 1}); err == nil || err.Error() != "the receiver acknowledges message 1 of tag 0x0000000000000001, of 0 that were sent" {
		t.Errorf("got %v, want an error that names the message", err)
	}
	box.Kill()
}
