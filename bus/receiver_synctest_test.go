// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

func TestSender_callbacksOfBothEndsMayCallEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		var r *receiver
		var s *sender
		handled, sent, opened := make(chan struct{}), make(chan struct{}), make(chan struct{})
		onLoop := func(what string, err error) {
			if !errors.Is(err, bus.ErrOnLoop) {
				t.Errorf("%s inside a callback: got %v, want ErrOnLoop", what, err)
			}
		}
		calls := 0
		r = b.receiver(bus.ReceiverConfig{Tags: tags.Of(1, 2)}, func(bus.Message) {
			<-opened
			if calls++; calls > 1 {
				t.Error("called after Close inside the handler")
				return
			}
			_, _, _ = r.Stats(), r.Addr(), r.Instance()
			onLoop("Receiver.Drain", r.Drain(t.Context()))
			must(t, r.Close())
			close(handled)
		})
		s = b.sender(bus.SenderConfig{Tags: tags.Of(1, 2, 3), Common: bus.Common{OnEvent: func(e bus.Event) {
			<-opened // s is set
			switch e.Kind {
			case bus.Subscribed:
				_ = s.Stats()
				onLoop("SendAcked", s.SendAcked(t.Context(), 1, nil))
				onLoop("WaitReceivers", s.WaitReceivers(t.Context(), tags.Of(1, 3)))
				onLoop("Sender.Drain", s.Drain(t.Context()))
				must(t, s.SendContext(t.Context(), 1, nil)) // there is a receiver and room
				must(t, s.Send(1, nil))
				s.Flush()
			case bus.Lost:
				onLoop("SendContext", s.SendContext(t.Context(), 1, nil))
				must(t, s.Close())
				close(sent)
			default:
			}
		}}})
		close(opened)
		<-handled
		<-sent
		if err := s.Send(1, nil); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("send after close: got %v, want ErrClosed", err)
		}
		if err := s.SendContext(t.Context(), 1, nil); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("send and wait after close: got %v, want ErrClosed", err)
		}
		if err := r.Drain(t.Context()); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("drain after close: got %v, want ErrClosed", err)
		}
	})
}

func TestReceiver_survivesStrangers(t *testing.T) {
	good := subscription.Hello{Instance: "x", Role: subscription.RoleSender, MaxMessageBytes: 1 << 14}
	with := func(change func(*subscription.Hello)) func(*testing.T) [][]byte {
		return func(t *testing.T) [][]byte {
			h := good
			change(&h)
			return [][]byte{hello(t, h)}
		}
	}
	then := func(data ...byte) func(*testing.T) [][]byte {
		return func(t *testing.T) [][]byte { return [][]byte{hello(t, good), data} }
	}
	const ours = 2 // hello and Subscribe
	tests := []struct {
		name    string
		send    func(t *testing.T) [][]byte
		answers int
		event   string // in one of the events
	}{
		{"an HTTP request gets no answer", func(*testing.T) [][]byte { return [][]byte{[]byte("GET / HTTP/1.1\r\n\r\n")} }, 0, "wrong magic"},
		{"another version is shown ours", func(t *testing.T) [][]byte { return [][]byte{otherVersion(hello(t, good))} }, 1, "protocol version 2"},
		{"a damaged hello is refused", func(t *testing.T) [][]byte { return [][]byte{append(hello(t, good), 0)} }, 1, "bad hello"},
		{"silence is ended", func(*testing.T) [][]byte { return nil }, 0, "did not say hello"},
		{"a subscriber is refused", with(func(h *subscription.Hello) { h.Role = "" }), 1, "takes connections of senders"},
		{"a receiver is refused", with(func(h *subscription.Hello) { h.Role = subscription.RoleReceiver }), 1, "takes connections of senders"},
		{"one that means another receiver is refused", with(func(h *subscription.Hello) { h.Expect = "y" }), 1, "stale"},
		{"one that takes no control messages is refused", with(func(h *subscription.Hello) { h.MaxMessageBytes = 100 }), 1, "at most 100 bytes"},
		{"a request is refused", then(control(t, &subscription.Subscribe{ID: 1, Set: []byte{1, 1, 5, 0, 0}})...), ours, "does not send subscribe"},
		{"a damaged page is refused", then(1, 0, 0, 0, 1, 0, 0, 0, 0), ours, "damaged page"},
		{"a tag that was not asked for is refused", then(1, 2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x80, 9, 0, 0, 0, 0, 0, 0, 0), ours, "was not asked for"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(5)}, func(bus.Message) { t.Error("got a message") })
				x := &stranger{answer: test.send(t)}
				backend, _ := b.stranger(x)
				must(t, backend.OpenEndpoint(r.Addr(), netio.Params{}))
				time.Sleep(10 * time.Second)
				synctest.Wait()
				if x.closed != 1 || len(x.got) != test.answers && test.answers != ours || len(x.got) > test.answers {
					t.Errorf("got %d answers and %d ends, want %d answers and one end", len(x.got), x.closed, test.answers)
				}
				found := false
				for _, e := range r.events {
					found = found || e.Err != nil && strings.Contains(e.Err.Error(), test.event)
				}
				if !found {
					t.Errorf("got events %v, want one with %q", r.events, test.event)
				}
			})
		})
	}
}

// TestReceiver_aStrangerThatAsksForAcks: a sender that does not read the answers to its pages
// is not read from any more, and if it has promised beats, it is named.
func TestReceiver_aStrangerThatAsksForAcks(t *testing.T) {
	t.Run("without beats", func(t *testing.T) { testAsksForAcks(t, 0) })
	t.Run("with beats", func(t *testing.T) { testAsksForAcks(t, 1000) })
}

func testAsksForAcks(t *testing.T, beats int) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(5)}, func(bus.Message) {})
		page := []byte{1, 2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x80, 5, 0, 0, 0, 0, 0, 0, 0}
		x := &stranger{}
		x.answer = [][]byte{hello(t, subscription.Hello{Instance: "x", Role: subscription.RoleSender, MaxMessageBytes: 1 << 14, BeatMillis: beats})}
		for range 60_000 {
			x.answer = append(x.answer, page)
		}
		backend, host := b.stranger(x)
		b.stall(host)
		must(t, backend.OpenEndpoint(r.Addr(), netio.Params{ZeroCopy: netio.ZeroCopyParams{Outstanding: 1 << 16}}))
		time.Sleep(time.Minute)
		synctest.Wait()
		if pages := r.Stats().Pages; pages < 100 || pages > 5000 {
			t.Errorf("read %d of 60,000 pages whose answers were not taken, want some 3,000", pages)
		}
		problems := r.of(bus.Problem)
		if beats == 0 && len(problems) > 0 {
			t.Errorf("got %v, want no problem: it may be silent", problems)
		}
		if beats > 0 && (len(problems) != 1 || !errors.Is(problems[0].Err, bus.ErrProtocol) || !strings.Contains(problems[0].String(), "asks faster than it reads")) {
			t.Errorf("got %v, want one about a sender that does not read", r.events)
		}
	})
}

func TestSender_refusesAReceiverWithAReason(t *testing.T) {
	tests := []struct {
		name  string
		entry func(*directory.Entry)
		cfg   bus.ReceiverConfig
		want  string
	}{
		{"of another backend", func(e *directory.Entry) { e.Backend = "rdma:verbs" }, bus.ReceiverConfig{}, `receiver speaks "rdma:verbs", this sender "memory": use the same backend for both`},
		{"that takes less than we send", nil, bus.ReceiverConfig{Receiving: bus.Receiving{MaxMessageBytes: 1 << 17}}, "raise ReceiverConfig.MaxMessageBytes"},
		{"behind a stale entry", func(e *directory.Entry) { e.Instance = "somebodyelse" }, bus.ReceiverConfig{}, "stale"},
		{"that refuses a policy of ours", nil, bus.ReceiverConfig{Subscription: bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.Latest}}}, "does not allow this policy"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				test.cfg.Tags = tags.Of(1)
				r := b.receiver(test.cfg, func(bus.Message) {})
				if test.entry != nil {
					entries, err := b.dir.List()
					must(t, err)
					e := entries[0]
					test.entry(&e)
					e.Tags = tags.Of(2)
					_, err = b.dir.Announce(withInstance(e, r.Instance()))
					must(t, err)
				}
				s := b.sender(bus.SenderConfig{Tags: tags.Of(2), Sending: bus.Sending{Policies: []bus.PolicyKind{bus.Block}}})
				if test.entry == nil {
					s = b.sender(bus.SenderConfig{Tags: tags.Of(1), Sending: bus.Sending{Policies: []bus.PolicyKind{bus.Block}}})
				}
				time.Sleep(time.Minute)
				refusals := s.of(bus.Refused)
				if len(refusals) != 1 || !strings.Contains(refusals[0].Err.Error(), test.want) {
					t.Errorf("got %v, want one with %q", refusals, test.want)
				}
			})
		})
	}
}

// withInstance gives an entry another instance than that of its model.
func withInstance(e directory.Entry, model string) directory.Entry {
	if e.Instance == model {
		e.Instance = "another"
	}
	return e
}

func TestReceiverConfig_Validate_theConfigurationsOfBoth(t *testing.T) {
	err := bus.ReceiverConfig{
		Common: bus.Common{Name: strings.Repeat("x", 256), HeartbeatInterval: 1, HeartbeatTimeout: 1}, Receiving: bus.Receiving{MaxMessageBytes: 1 << 30}, MaxSenders: -1,
		Subscription: bus.SubscriptionConfig{BacklogBytes: -1, Duplicates: bus.DuplicatesNewest, Timeout: time.Second},
	}.Validate()
	for _, field := range []string{"Name", "Tags", "MaxMessageBytes", "MaxSenders", "Subscription", "Subscription.Duplicates", "Subscription.Timeout", "HeartbeatInterval", "HeartbeatTimeout"} {
		if !errors.Is(err, bus.ErrInvalidConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("receiver: got %v, want a violation of %s", err, field)
		}
	}
	err = bus.SenderConfig{
		Common: bus.Common{
			Name:              strings.Repeat("x", 256),
			HeartbeatInterval: 1, HeartbeatTimeout: 1,
		}, Sending: bus.Sending{PageBytes: 1, MaxStall: 1, CacheMessages: -1, CacheBytes: 1}, Dialing: bus.Dialing{ReconnectMin: 1, ReconnectMax: -1},
	}.Validate()
	for _, field := range []string{"Name", "PageBytes", "ReconnectMin", "HeartbeatInterval", "HeartbeatTimeout", "MaxStall", "CacheMessages", "CacheBytes"} {
		if !errors.Is(err, bus.ErrInvalidConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("sender: got %v, want a violation of %s", err, field)
		}
	}
	if err := errors.Join(bus.SenderConfig{}.Validate(), bus.ReceiverConfig{Tags: tags.Of(1)}.Validate()); err != nil {
		t.Errorf("got %v, want nil for what has defaults", err)
	}
}

// A sender that has sent nothing does not give way to one of a host that has as many of
// these.
func TestReceiver_sparesASilentSenderOfAnotherHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		r := b.receiver(bus.ReceiverConfig{Tags: tags.Of(1), MaxSenders: 2}, newCollector().handle)
		p := &publisher{member: r.member}
		come := func(c *crowd) *hand {
			c.at = r.Addr()
			h := newHand()
			h.answer = [][]byte{hello(t, subscription.Hello{
				Instance: fmt.Sprintf("%v-%d", c.host, len(c.hands)), Role: subscription.RoleSender, MaxMessageBytes: 1 << 20,
			})}
			c.dial(p, h)
			synctest.Wait()
			return h
		}
		other, flood := b.crowd(t), b.crowd(t)
		silent := come(other)
		come(flood)
		come(flood)
		if silent.closed > 0 {
			t.Error("the silent sender of another host gave way")
		}
	})
}
