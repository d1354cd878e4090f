// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
	"tagbus/tags"
)

// TestPublisher_everyCallIntoABackendMayFail: the nth call of a publisher or a subscriber fails,
// for every n, as if something had run out, the connection had broken, or the device
// were faulty. Every message is delivered or counted as lost.
func TestPublisher_everyCallIntoABackendMayFail(t *testing.T) {
	for _, test := range []struct {
		name      string
		publisher bool
		err       error
	}{
		{"of a publisher, for a moment", true, nil},
		{"of a publisher, with its connection", true, netio.ErrClosed},
		{"of a publisher, with an unknown error", true, errors.New("faulty device")},
		{"of a subscriber, for a moment", false, nil},
		{"of a subscriber, with its connection", false, netio.ErrClosed},
		{"of a subscriber, with an unknown error", false, errors.New("faulty device")},
	} {
		t.Run(test.name, func(t *testing.T) {
			for n, fired := int64(1), true; fired; n++ {
				f := &memnet.Fault{N: n, Err: test.err}
				synctest.Test(t, func(t *testing.T) { transferWith(t, f, test.publisher) })
				if fired = f.Fired(); n == 1 && !fired {
					t.Error("got no call that can fail, want some")
				}
			}
		})
	}
}

// transferWith publishes to a subscriber, while a call into the backend of one of them
// fails. Drain may report a connection that ends in the last seconds.
func transferWith(t *testing.T, f *memnet.Fault, ofPublisher bool) {
	b := newBed(t)
	if ofPublisher {
		b.fault = f
	}
	pm := b.member()
	p, err := bus.NewPublisher(b.opener(pm), b.dir, bus.PublisherConfig{Tags: tags.Of(1, 2), Listening: bus.Listening{Listen: anyPort(pm.host)}, Common: bus.Common{OnEvent: pm.note}})
	if err != nil {
		if f.Call() != "OpenListenEndpoint" {
			t.Errorf("NewPublisher with a fault in %q: got error %v, want none", f.Call(), err)
		}
		pm.loop.Close()
		return
	}
	defer pm.loop.Close()
	defer func() { must(t, p.Close()) }()
	b.fault = nil
	if !ofPublisher {
		b.fault = f
	}
	sm := b.member()
	s, err := bus.NewSubscriber(b.opener(sm), b.dir, bus.SubscriberConfig{Common: bus.Common{OnEvent: sm.note}})
	must(t, err)
	defer sm.loop.Close()
	defer func() { must(t, s.Close()) }()
	delivered := make(map[tags.Tag]uint64)
	sub, err := s.Subscribe(tags.Of(1, 2), func(m bus.Message) { delivered[m.Tag]++ })
	must(t, err)
	must(t, sub.Wait(t.Context()))
	for i := range uint64(20) {
		must(t, p.PublishContext(t.Context(), tags.Tag(1+i%2), payload(tags.Tag(1+i%2), i)))
		if i%7 == 0 {
			pass(time.Second)
		}
	}
	pass(8 * time.Second)
	healed := f.Fired() // and is over when all is counted
	pass(4 * time.Second)
	where := fmt.Sprintf("call %d, %s", f.N, f.Call())
	for _, problem := range audit(t, p, s, tags.Of(1, 2)) {
		t.Errorf("%s: %s", where, problem)
	}
	lost := gaps(sm)
	if got := delivered[1] + delivered[2] + lost[1] + lost[2]; got != 20 {
		t.Errorf("%s: delivered %v and lost %v, want 20 together", where, delivered, lost)
	}
	if st := p.Stats(); st.PagesFree != st.Pages {
		t.Errorf("%s: got %d of %d pages free, want all", where, st.PagesFree, st.Pages)
	}
	if err := p.Drain(t.Context()); err != nil && (healed || !errors.Is(err, bus.ErrUndelivered)) {
		t.Errorf("%s: drain: got %v, want nil", where, err)
	}
}
