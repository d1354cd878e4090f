// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/netio"
	"tagbus/subscription"
	"tagbus/tags"
)

// secrets are what a peer without rights may not see: names, the instance, the process, and
// the tags in each form that the protocol has.
func secrets(t *testing.T, instance string, set tags.Set) map[string][]byte {
	t.Helper()
	host, err := os.Hostname()
	must(t, err)
	binaryForm, err := set.MarshalBinary()
	must(t, err)
	all := map[string][]byte{
		"the instance": []byte(instance), "the name": []byte("hidden-name"), "the name of another peer": []byte("hidden-peer"),
		"a principal": []byte("hidden-principal"), "the host": []byte(`"` + host), "the process": []byte(strconv.Itoa(os.Getpid())),
		"the set": binaryForm, "the rules": []byte("rule 1"),
	}
	for tag := range set.All() {
		all["tag "+tag.String()] = []byte(tag.String())
		all["tag as a number "+tag.String()] = binary.BigEndian.AppendUint64(nil, uint64(tag))
		all["tag as a little number "+tag.String()] = binary.LittleEndian.AppendUint64(nil, uint64(tag))
	}
	return all
}

// wantNothingOf fails the test if what a stranger got has a secret.
func wantNothingOf(t *testing.T, got [][]byte, all map[string][]byte) {
	t.Helper()
	for name, secret := range all {
		if bytes.Contains(bytes.Join(got, nil), secret) {
			t.Errorf("got %s: %q has %q", name, got, secret)
		}
	}
}

// strangerHellos are what a peer by hand says first.
func strangerHellos(t *testing.T, instance string) map[string][][]byte {
	h := func(h subscription.Hello) []byte {
		h.Instance, h.MaxMessageBytes = "x", 1<<30
		return hello(t, h)
	}
	ask := control(t, &subscription.Subscribe{ID: 1, Set: []byte{1, 1, 1, 0, 0}})
	describe := control(t, &subscription.Describe{ID: 1, Peers: 99, Busiest: 99})
	return map[string][][]byte{
		"a subscriber":                     {h(subscription.Hello{}), ask},
		"a sender":                         {h(subscription.Hello{Role: subscription.RoleSender}), ask},
		"a receiver":                       {h(subscription.Hello{Role: subscription.RoleReceiver}), ask},
		"an observer":                      {h(subscription.Hello{Role: subscription.RoleObserver}), describe},
		"one of an unknown role":           {h(subscription.Hello{Role: "king"}), ask},
		"one that expects another":         {h(subscription.Hello{Expect: "another"}), ask},
		"one that expects this one":        {h(subscription.Hello{Expect: instance}), ask},
		"an observer that expects another": {h(subscription.Hello{Role: subscription.RoleObserver, Expect: "another"}), describe},
		"one of another version":           {otherVersion(h(subscription.Hello{})), ask},
		"an observer of another version":   {otherVersion(h(subscription.Hello{Role: subscription.RoleObserver})), describe},
		"no peer of the bus":               {[]byte("GET / HTTP/1.1\r\n\r\n")},
		"one without a hello":              {ask, describe},
		"half a hello":                     {h(subscription.Hello{})[:20]},
		"one that takes no messages":       {hello(t, subscription.Hello{Instance: "x"}), ask},
	}
}

// TestAccess_aStrangerSeesNothing: with a certificate that counts and no right, at a publisher and
// at a receiver, of which each has a peer.
func TestAccess_aStrangerSeesNothing(t *testing.T) {
	set := tags.Of(0x1234567890abcdef, 0x1122334455667788)
	const policy = `{"rules":[{"who":"cn:hidden-principal","publish":"*","subscribe":"*","send":"*","receive":"*","describe":"*"}]}`
	for name := range strangerHellos(t, "") {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				x := b.site(policy)
				access := x.as("cn:hidden-principal")
				p := b.publisher(bus.PublisherConfig{Common: bus.Common{Name: "hidden-name", Access: access}, Tags: set, Sending: bus.Sending{CacheMessages: 1}})
				r := b.receiver(bus.ReceiverConfig{Common: bus.Common{Name: "hidden-name", Access: access}, Tags: set}, func(bus.Message) {})
				s := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Name: "hidden-peer", Access: access}})
				subscribe(t, s, set, func(bus.Message) {})
				publishEach(t, p, 0x1234567890abcdef)
				for _, certificate := range []string{"cn:stranger", ""} {
					for i, listens := range []interface {
						Instance() string
					}{p, r} {
						x.as(certificate)
						stranger := &stranger{answer: strangerHellos(t, listens.Instance())[name]}
						backend, _ := b.stranger(stranger)
						addr := p.Addr()
						if i == 1 {
							addr = r.Addr()
						}
						must(t, backend.OpenEndpoint(addr, netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 1 << 20}}))
						time.Sleep(time.Minute)
						synctest.Wait()
						wantNothingOf(t, stranger.got, secrets(t, listens.Instance(), set))
						if !stranger.ended() {
							t.Error("got a connection that stands, want its end")
						}
					}
				}
			})
		})
	}
}

// TestAccess_aWrongListenerSeesNothing: a subscriber and a sender say nothing to what has no right
// to publish, or to receive, whatever its entry claims.
func TestAccess_aWrongListenerSeesNothing(t *testing.T) {
	set := tags.Of(0x1234567890abcdef)
	for _, role := range []string{"", subscription.RoleReceiver} {
		t.Run(role, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				x := b.site(`{"rules":[{"who":"cn:hidden-principal","subscribe":"*","send":"*"}]}`)
				x.as("cn:stranger")
				listener := &stranger{answer: [][]byte{hello(t, subscription.Hello{Instance: "wrong", Role: role, MaxMessageBytes: 1 << 30})}}
				backend, host := b.stranger(listener)
				l, err := backend.OpenListenEndpoint(anyPort(host), netio.Params{Receive: netio.ReceiveParams{MaxMessageBytes: 1 << 20}})
				must(t, err)
				_, err = b.dir.Announce(directory.Entry{Instance: "wrong", Role: directory.Role(role), Backend: "memory", Addresses: []netip.AddrPort{l.Addr()}, Tags: set, PageBytes: 1 << 14, MaxMessageBytes: 1 << 24})
				must(t, err)
				access := x.as("cn:hidden-principal")
				if role == "" {
					s := b.subscriber(bus.SubscriberConfig{Common: bus.Common{Name: "hidden-name", Access: access}})
					_, err := s.Subscribe(set, func(m bus.Message) { t.Errorf("got %v, want nothing", m) })
					must(t, err)
					time.Sleep(time.Minute)
					synctest.Wait()
					wantNothingOf(t, listener.got, secrets(t, s.Instance(), set))
					s.wantRefused(t, "cn:stranger may not publish anything here")
				} else {
					s := b.sender(bus.SenderConfig{Common: bus.Common{Name: "hidden-name", Access: access}})
					_ = s.Send(0x1234567890abcdef, []byte("hidden-peer"))
					time.Sleep(time.Minute)
					synctest.Wait()
					wantNothingOf(t, listener.got, secrets(t, s.Instance(), set))
					s.wantRefused(t, "cn:stranger may not receive anything here")
				}
				if len(listener.got) > 0 || listener.closed == 0 {
					t.Errorf("got %q and %d ends, want no byte and some", listener.got, listener.closed)
				}
			})
		})
	}
}
