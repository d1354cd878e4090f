// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

func TestPublisher_survivesStrangers(t *testing.T) {
	good := subscription.Hello{Instance: "x", MaxMessageBytes: 1 << 30}
	tests := []struct {
		name    string
		send    func(t *testing.T) [][]byte
		answers int    // messages before the end
		event   string // in one of the events
	}{
		{"an HTTP request gets no answer", func(*testing.T) [][]byte { return [][]byte{[]byte("GET / HTTP/1.1\r\n\r\n")} }, 0, "wrong magic"},
		{"a TLS hello gets no answer", func(*testing.T) [][]byte { return [][]byte{{0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3}} }, 0, "wrong magic"},
		{"another version is shown ours", func(t *testing.T) [][]byte { return [][]byte{otherVersion(hello(t, good))} }, 1, "protocol version 2, this program version 1"},
		{"a damaged hello is refused", func(t *testing.T) [][]byte { return [][]byte{append(hello(t, good), 0)} }, 1, "bad hello"},
		{"silence is ended", func(*testing.T) [][]byte { return nil }, 0, "did not say hello"},
		{"a page from a subscriber is refused", func(t *testing.T) [][]byte {
			return [][]byte{hello(t, good), {1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}}
		}, atMostOne, "unknown kind"},
		{"an answer instead of a request is refused", func(t *testing.T) [][]byte {
			return [][]byte{hello(t, good), control(t, &subscription.Subscribed{ID: 1})}
		}, atMostOne, "does not send subscribed"},
		{"a damaged set is refused", func(t *testing.T) [][]byte {
			return [][]byte{hello(t, good), control(t, &subscription.Subscribe{ID: 1, Set: []byte{9}})}
		}, atMostOne, "protocol violation"},
		{"a set without tags is refused", func(t *testing.T) [][]byte {
			return [][]byte{hello(t, good), control(t, &subscription.Subscribe{ID: 1, Set: []byte{1, 0, 0}})}
		}, atMostOne, "no tags"},
		{"mixed parts are refused", func(t *testing.T) [][]byte {
			return [][]byte{
				hello(t, good),
				control(t, &subscription.Subscribe{ID: 1, Set: []byte{1}, More: true}),
				control(t, &subscription.Subscribe{ID: 2, Set: []byte{1}}),
			}
		}, atMostOne, "mixed"},
		{"positions before a new subscription are refused", func(t *testing.T) [][]byte {
			return [][]byte{
				hello(t, good),
				control(t, &subscription.Positions{ID: 1, List: []byte{1, 0}}),
				control(t, &subscription.Subscribe{ID: 1, Set: []byte{1, 1, 1, 0, 0}}),
			}
		}, atMostOne, "and then a new subscription"},
		{"positions of two subscriptions are refused", func(t *testing.T) [][]byte {
			return [][]byte{
				hello(t, good),
				control(t, &subscription.Positions{ID: 1, List: []byte{1, 0}}),
				control(t, &subscription.Positions{ID: 2, List: []byte{1, 0}}),
			}
		}, atMostOne, "mixed"},
		{"a damaged list of positions is refused", func(t *testing.T) [][]byte {
			return [][]byte{
				hello(t, good),
				control(t, &subscription.Positions{ID: 1, List: []byte{1}}),
				control(t, &subscription.Subscribe{ID: 1, Set: []byte{1, 1, 1, 0, 0}, Resume: true}),
			}
		}, atMostOne, "damaged list"},
		{"an endless set is refused", func(t *testing.T) [][]byte {
			part := control(t, &subscription.Subscribe{ID: 1, Set: make([]byte, 16000), More: true})
			messages := [][]byte{hello(t, good)}
			for range 60 { // the most that the stranger's queue holds
				messages = append(messages, part)
			}
			return messages
		}, atMostOne, "does not begin as one"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
				s := &stranger{answer: test.send(t)}
				backend, _ := b.stranger(s)
				must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
				time.Sleep(time.Minute)
				synctest.Wait()
				if s.closed != 1 {
					t.Errorf("the connection was closed %d times, want once", s.closed)
				}
				if test.answers == atMostOne && len(s.got) <= 1 {
					test.answers = len(s.got) // the hello, if the end did not overtake it
				}
				if len(s.got) != test.answers {
					t.Errorf("got %d answers, want %d: %q", len(s.got), test.answers, s.got)
				}
				wantEvent(t, p.member, test.event)
				// A proper subscriber is served all the same.
				subscribe(t, b.subscriber(bus.SubscriberConfig{}), tags.Of(1), func(bus.Message) {})
			})
		})
	}
}

// A refused peer that did not read its refusal held a connection for ever.
func TestPublisher_aRefusedPeerNeedNotReadWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p := b.publisher(bus.PublisherConfig{Tags: tags.Of(1)})
		s := &stranger{answer: [][]byte{hello(t, subscription.Hello{Instance: "x", Expect: "another", MaxMessageBytes: 1 << 30})}}
		backend, host := b.stranger(s)
		b.stall(host)
		closed := 0
		b.net.Observe(func(e memnet.Event) {
			if e.Kind == memnet.Closed && e.Local == p.Addr() {
				closed++
			}
		})
		must(t, backend.OpenEndpoint(p.Addr(), netio.Params{}))
		time.Sleep(7 * time.Second)
		synctest.Wait()
		if closed != 1 {
			t.Errorf("closed %d times after 5 s without a hello, want once; events %v", closed, p.events)
		}
	})
}

func wantEvent(t *testing.T, m *member, text string) {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.events {
		if strings.Contains(e.String(), text) {
			return
		}
	}
	if text != "" {
		t.Errorf("events: got %v, want one with %q", m.events, text)
	}
}

func TestSubscriber_survivesStrangers(t *testing.T) {
	const instance = "impostor"
	good := subscription.Hello{Instance: instance, MaxMessageBytes: 1 << 14}
	page := []byte{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0x80, 1, 0, 0, 0, 0, 0, 0, 0, 'x'}
	tests := []struct {
		name  string
		send  func(t *testing.T) [][]byte
		event string
	}{
		{"something else at the address", func(*testing.T) [][]byte { return [][]byte{[]byte("220 mail ready\r\n")} }, "wrong magic"},
		{"another version", func(t *testing.T) [][]byte { return [][]byte{otherVersion(hello(t, good))} }, "upgrade this program"},
		{"another publisher", func(t *testing.T) [][]byte { return [][]byte{hello(t, subscription.Hello{Instance: "y"})} }, "stale"},
		{"silence", func(*testing.T) [][]byte { return nil }, "did not say hello"},
		{"a damaged page", func(t *testing.T) [][]byte { return [][]byte{hello(t, good), page[:20]} }, "damaged page"},
		{"a page without messages", func(t *testing.T) [][]byte { return [][]byte{hello(t, good), {1, 0, 0, 0, 0, 0, 0, 0}} }, "no messages"},
		{"an unknown message", func(t *testing.T) [][]byte { return [][]byte{hello(t, good), {0x77}} }, "unknown kind"},
		{"a request", func(t *testing.T) [][]byte {
			return [][]byte{hello(t, good), control(t, &subscription.Unsubscribe{ID: 1})}
		}, "does not send unsubscribe"},
		{"an acknowledgement of nothing", func(t *testing.T) [][]byte {
			return [][]byte{hello(t, good), control(t, &subscription.Subscribed{ID: 99})}
		}, "not asked for"},
		{"the end of nothing", func(t *testing.T) [][]byte {
			return [][]byte{hello(t, good), control(t, &subscription.Unsubscribed{ID: 1})}
		}, "by itself"},
		{"damaged positions", func(t *testing.T) [][]byte {
			return [][]byte{hello(t, good), control(t, &subscription.Positions{ID: 1, List: []byte{0x80}})}
		}, "damaged list"},
		{"positions that go back", func(t *testing.T) [][]byte {
			list := subscription.AppendPosition(nil, 0, subscription.Position{Tag: 1, Count: 0})
			return [][]byte{hello(t, good), control(t, &subscription.Subscribed{ID: 1}), page, control(t, &subscription.Positions{ID: 1, List: list})}
		}, "stands at 0 after 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				s := &stranger{answer: test.send(t)}
				backend, host := b.stranger(s)
				listen, err := backend.OpenListenEndpoint(netip.AddrPortFrom(host, 0), netio.Params{})
				must(t, err)
				_, err = b.dir.Announce(directory.Entry{
					Instance: instance, Backend: "memory", Addresses: []netip.AddrPort{listen.Addr()},
					Tags: tags.Of(1), PageBytes: 1024, MaxMessageBytes: 1024,
				})
				must(t, err)
				sub := b.subscriber(bus.SubscriberConfig{})
				_, err = sub.Subscribe(tags.Of(1), func(bus.Message) {})
				must(t, err)
				time.Sleep(20 * time.Second)
				synctest.Wait()
				wantEvent(t, sub.member, test.event)
				if n := len(sub.of(bus.Problem)); n > 40 {
					t.Errorf("%d problems in 20 s: the subscriber does not back off", n)
				}
				if s.closed == 0 {
					t.Error("the connection was not closed")
				}
			})
		})
	}
}

func TestPublisherConfig_Validate_configurationsAreCheckedAsAWhole(t *testing.T) {
	err := bus.PublisherConfig{Sending: bus.Sending{PageBytes: 1, MaxMessageBytes: -1}, MaxStreams: -1}.Validate()
	for _, field := range []string{"Tags", "PageBytes", "MaxMessageBytes", "MaxStreams"} {
		if !errors.Is(err, bus.ErrInvalidConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("publisher: got %v, want %s named", err, field)
		}
	}
	err = bus.PublisherConfig{Tags: tags.Of(1), Sending: bus.Sending{QueueBytes: 1000, PoolBytes: 10}}.Validate()
	for _, field := range []string{"QueueBytes", "PoolBytes"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("publisher: got %v, want %s named", err, field)
		}
	}
	err = bus.SubscriberConfig{Common: bus.Common{Name: strings.Repeat("x", 256)}, Receiving: bus.Receiving{MaxMessageBytes: 1, QueueBytes: -1}, Dialing: bus.Dialing{ReconnectMin: 1}}.Validate()
	for _, field := range []string{"Name", "MaxMessageBytes", "QueueBytes", "ReconnectMin"} {
		if !errors.Is(err, bus.ErrInvalidConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("subscriber: got %v, want %s named", err, field)
		}
	}
}
