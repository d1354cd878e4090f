// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus"
	"tagbus/tags"
)

// accountRun is a publisher and a subscriber of tags 1 and 2 with a policy, and
// what the test itself has seen of them.
type accountRun struct {
	t         *testing.T
	bed       *bed
	pub       *publisher
	sub       *subscriber
	published map[tags.Tag]uint64
	delivered map[tags.Tag]uint64
}

func newAccountRun(t *testing.T, policy bus.Policy, poolBytes int) *accountRun {
	t.Helper()
	r := &accountRun{t: t, bed: newBed(t), published: make(map[tags.Tag]uint64), delivered: make(map[tags.Tag]uint64)}
	r.pub = r.bed.publisher(bus.PublisherConfig{
		Tags: tags.Of(1, 2), Sending: bus.Sending{PageBytes: 512, MaxMessageBytes: 400, QueueBytes: 4096, PoolBytes: poolBytes},
	})
	r.sub = r.bed.subscriber(bus.SubscriberConfig{})
	r.bed.net.SetWindow(netip.AddrPort{}, r.host(), 1024)
	sub, err := r.sub.SubscribeWith(tags.Of(1, 2), func(m bus.Message) { r.delivered[m.Tag]++ }, bus.SubscriptionConfig{Policy: policy})
	must(t, err)
	must(t, sub.Wait(t.Context()))
	return r
}

func (r *accountRun) host() netip.AddrPort { return netip.AddrPortFrom(r.sub.host, 0) }

// publish publishes n messages, of both tags in turn, and leaves out those that the
// publisher refuses.
func (r *accountRun) publish(n int) {
	for i := range n {
		tag := tags.Tag(1 + i%2)
		if r.pub.Publish(tag, make([]byte, 100)) == nil {
			r.published[tag]++
		}
		if i%8 == 7 {
			synctest.Wait()
		}
	}
}

// check waits until all is quiet and audits.
func (r *accountRun) check(where string) {
	r.t.Helper()
	time.Sleep(time.Minute)
	for _, problem := range append(audit(r.t, r.pub, r.sub, tags.Of(1, 2)), auditSums(r.pub, r.sub)...) {
		r.t.Errorf("%s: %s", where, problem)
	}
	for _, problem := range auditSent(r.t, r.pub.Stats(), r.sub.Instance(), r.published[1]+r.published[2]) {
		r.t.Errorf("%s: %s", where, problem)
	}
	if n := r.pub.Stats().Unconfirmed; n != 0 {
		r.t.Errorf("%s: got %d unconfirmed, want none", where, n)
	}
	lost := reported(r.sub.member, r.pub.Instance(), 0)
	for tag, published := range r.published {
		if l := lost[tag]; r.delivered[tag]+l.Lost()+l.LeftOut != published || l.Ended != 0 {
			r.t.Errorf("%s: tag %v: published %d, delivered %d, lost %+v", where, tag, published, r.delivered[tag], l)
		}
	}
}

// accountFaults are what can happen to a connection. Each leaves it standing.
var accountFaults = []struct {
	name string
	do   func(*accountRun)
}{
	{"nothing", func(r *accountRun) { r.publish(100) }},
	{"a stall", func(r *accountRun) {
		r.bed.net.Stall(netip.AddrPort{}, r.host())
		r.publish(200)
		r.bed.net.Resume(netip.AddrPort{}, r.host())
	}},
	{"a reset under load", func(r *accountRun) {
		r.publish(50)
		r.bed.net.Reset(r.pub.Addr(), r.host())
		r.publish(50)
	}},
	{"a reset while stalled", func(r *accountRun) {
		r.bed.net.Stall(netip.AddrPort{}, r.host())
		r.publish(200)
		r.bed.net.Reset(r.pub.Addr(), r.host())
		r.publish(20)
		r.bed.net.Resume(netip.AddrPort{}, r.host())
	}},
	{"two resets, the second before either side has reported anything", func(r *accountRun) {
		r.bed.net.Stall(netip.AddrPort{}, r.host())
		r.publish(200)
		r.bed.net.Reset(r.pub.Addr(), r.host())
		time.Sleep(10 * time.Second) // it connects, and hears nothing
		r.publish(200)
		r.bed.net.Reset(r.pub.Addr(), r.host())
		r.publish(20)
		r.bed.net.Resume(netip.AddrPort{}, r.host())
	}},
	{"a reset between the publisher's report and the answer", func(r *accountRun) {
		r.publish(50)
		r.bed.net.Reset(r.pub.Addr(), r.host())
		r.publish(30)
		r.bed.net.Stall(r.host(), netip.AddrPort{})
		time.Sleep(10 * time.Second)
		r.bed.net.Reset(r.pub.Addr(), r.host())
		r.publish(30)
		r.bed.net.Resume(r.host(), netip.AddrPort{})
	}},
	{"a partition", func(r *accountRun) {
		there := netip.AddrPortFrom(r.pub.host, 0)
		r.bed.net.Partition(there, r.host())
		r.publish(200)
		time.Sleep(20 * time.Second)
		r.publish(20)
		r.bed.net.Heal(there, r.host())
	}},
}

func TestPublisher_Stats_bothEndsCountTheSame(t *testing.T) {
	for _, policy := range modelPolicies {
		var all bus.Losses
		for _, pool := range []int{1 << 20, 8 << 10} { // the small one makes losses for want of memory
			for _, fault := range accountFaults {
				t.Run(fmt.Sprintf("%v, %d bytes, %s", policy, pool, fault.name), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						r := newAccountRun(t, policy, pool)
						fault.do(r)
						r.check("after the fault")
						r.publish(30)
						fault.do(r)
						r.publish(7)
						r.check("after it came again")
						must(t, r.pub.Drain(t.Context()))
						r.check("after the end")
						all = plus(all, r.pub.Stats().Losses)
					})
				})
			}
		}
		full := !policy.Lossless() && policy.Kind != bus.Latest // which keeps two messages at most
		want := [...]bool{full, full, true, policy.Kind == bus.Latest || policy.Kind == bus.Sample}
		if got := [...]bool{all.Full > 0, all.Memory > 0, all.Connection > 0, all.LeftOut > 0}; got != want {
			t.Errorf("%v: of full, memory, connection, left out there are losses %v, want %v: %+v", policy, got, want, all)
		}
	}
}

// Messages that a closed subscription never heard of are counted once the next one
// begins. No subscription reports them as lost.
func TestSubscriber_theAccountGoesOnAcrossSubscriptions(t *testing.T) {
	for _, policy := range modelPolicies {
		t.Run(policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newAccountRun(t, policy, 1<<20)
				first, err := r.sub.SubscribeWith(tags.Of(1), func(bus.Message) {}, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.DropNewest}, BacklogBytes: 512})
				must(t, err)
				must(t, first.Wait(t.Context()))
				r.bed.net.Stall(netip.AddrPort{}, r.host())
				r.publish(100)
				must(t, first.Close())
				r.bed.net.Reset(r.pub.Addr(), r.host())
				r.bed.net.Resume(netip.AddrPort{}, r.host())
				time.Sleep(time.Minute)
				gaps := reported(r.sub.member, r.pub.Instance(), 0)
				_, err = r.sub.SubscribeWith(tags.Of(1), func(bus.Message) {}, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.DropNewest}, BacklogBytes: 512})
				must(t, err)
				time.Sleep(time.Minute)
				for _, problem := range append(audit(t, r.pub, r.sub, tags.Of(1, 2)), auditSums(r.pub, r.sub)...) {
					t.Error(problem)
				}
				if d := cmp.Diff(gaps, reported(r.sub.member, r.pub.Instance(), 0)); d != "" {
					t.Errorf("gaps before and after it subscribed again (-before +after):\n%s", d)
				}
			})
		})
	}
}
