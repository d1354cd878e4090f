package bus_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"tagbus/bus"
	"tagbus/tags"
)

// The model: one publisher, a few subscribers with one subscription each, and
// everything that can happen to them. What must hold at the end, for every
// subscriber and tag: published since the acknowledgement = delivered +
// reported lost; in order, each once, bytes equal.

var modelPolicies = []bus.Policy{
	{}, {Kind: bus.DropNewest}, {Kind: bus.DropOldest}, {Kind: bus.Latest}, {Kind: bus.Sample, Every: 3},
}

const (
	modelTags        = 5
	modelSubscribers = 3
)

type modelOp struct {
	Kind   int // of the switch in modelRun.step
	Who    int // subscriber
	Tag    int
	Amount int
}

func modelOps() *rapid.Generator[[]modelOp] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) modelOp {
		return modelOp{
			Kind:   rapid.IntRange(0, 13).Draw(t, "kind"),
			Who:    rapid.IntRange(0, modelSubscribers-1).Draw(t, "who"),
			Tag:    rapid.IntRange(0, modelTags-1).Draw(t, "tag"),
			Amount: rapid.IntRange(1, 60).Draw(t, "amount"),
		}
	}), 5, 60)
}

func TestModel(t *testing.T) {
	for range 10 { // of rapid's usual hundred each
		rapid.Check(t, checkModel(t))
	}
}

func checkModel(t *testing.T) func(*rapid.T) {
	return func(rt *rapid.T) {
		ops := modelOps().Draw(rt, "ops")
		streams := rapid.SampledFrom([]int{1, 2, 64}).Draw(rt, "streams")
		var policies [modelSubscribers]bus.Policy
		for i := range policies {
			policies[i] = rapid.SampledFrom(modelPolicies).Draw(rt, "policy")
		}
		var problems []string
		// A bubble runs on a goroutine of its own, so rapid hears of problems
		// only here.
		synctest.Test(t, func(t *testing.T) { problems = newModelRun(t, streams, policies).run(ops) })
		for _, p := range problems {
			rt.Error(p)
		}
	}
}

type modelRun struct {
	t         *testing.T
	bed       *bed
	pub       *publisher
	published map[tags.Tag]uint64
	removed   map[tags.Tag]bool // by the publisher
	subs      [modelSubscribers]*modelSubscriber
	problems  []string
}

type modelSubscriber struct {
	*subscriber
	policy  bus.Policy
	stalled bool
	sub     *bus.Subscription // nil while not subscribed
	set     tags.Set
	from    map[tags.Tag]uint64 // positions at the acknowledgement
	lost    map[tags.Tag]uint64 // reported lost by then, since gapsSeen

	delivered map[tags.Tag]uint64
	last      map[tags.Tag]uint64 // counter
	gapsSeen  int
}

func newModelRun(t *testing.T, streams int, policies [modelSubscribers]bus.Policy) *modelRun {
	r := &modelRun{t: t, bed: newBed(t), published: make(map[tags.Tag]uint64), removed: make(map[tags.Tag]bool)}
	all, err := tags.Range(0, modelTags-1)
	must(t, err)
	r.pub = r.bed.publisher(bus.PublisherConfig{
		Tags: all, PageBytes: 256, MaxMessageBytes: 600, QueueBytes: 2048, PoolBytes: 1 << 20, MaxStreams: streams,
	})
	for i := range r.subs {
		r.subs[i] = &modelSubscriber{subscriber: r.bed.subscriber(bus.SubscriberConfig{}), policy: policies[i]}
		r.bed.net.SetWindow(netip.AddrPort{}, r.subs[i].anyPort(), 1024)
	}
	return r
}

func (s *modelSubscriber) anyPort() netip.AddrPort { return netip.AddrPortFrom(s.host, 0) }

func (r *modelRun) failf(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// payload makes the message that has this counter, of varying size: some are
// larger than a page.
func payload(tag tags.Tag, counter uint64) []byte {
	data := fmt.Appendf(nil, "%d:%d:", tag, counter)
	n := int(counter*37+uint64(tag)*11) % 120
	if counter%17 == 0 {
		n += 400
	}
	for range n {
		data = append(data, byte(counter))
	}
	return data
}

func (r *modelRun) run(ops []modelOp) []string {
	for _, op := range ops {
		r.step(op)
	}
	for _, s := range r.subs {
		r.resume(s)
	}
	time.Sleep(time.Minute) // reconnect, deliver
	must(r.t, r.pub.Drain(r.t.Context()))
	synctest.Wait()
	for i, s := range r.subs {
		if s.sub != nil {
			r.account(i, s)
		}
	}
	if st := r.pub.Stats(); st.PagesFree != st.Pages {
		r.failf("%d of %d pages leaked", st.Pages-st.PagesFree, st.Pages)
	}
	return r.problems
}

func (r *modelRun) step(op modelOp) {
	s := r.subs[op.Who]
	switch op.Kind {
	case 0, 1, 2, 3:
		for range op.Amount {
			r.publish(tags.Tag(op.Tag))
		}
	case 4:
		r.subscribe(op.Who, s, tags.Of(tags.Tag(op.Tag), tags.Tag(op.Amount%modelTags)))
	case 5:
		r.unsubscribe(s)
	case 6:
		r.bed.net.Reset(r.pub.Addr(), s.anyPort())
	case 7:
		s.stalled = true
		r.bed.net.Stall(netip.AddrPort{}, s.anyPort())
	case 8:
		r.resume(s)
	case 9:
		time.Sleep(time.Duration(op.Amount) * 20 * time.Millisecond)
		synctest.Wait()
	case 10:
		r.add(s, tags.Of(tags.Tag(op.Tag), tags.Tag(op.Amount%modelTags)))
	case 11:
		r.remove(s, tags.Of(tags.Tag(op.Tag), tags.Tag(op.Amount%modelTags)))
	case 12, 13:
		r.serve(tags.Of(tags.Tag(op.Tag), tags.Tag(op.Amount%modelTags)), op.Kind == 13)
	}
}

func (r *modelRun) publish(tag tags.Tag) {
	err := r.pub.Publish(tag, payload(tag, r.published[tag]+1))
	switch {
	case r.removed[tag]:
		if !errors.Is(err, bus.ErrUnknownTag) {
			r.failf("publish removed tag %v: %v", tag, err)
		}
	case err == nil:
		r.published[tag]++
	case !errors.Is(err, bus.ErrNoResources):
		r.failf("publish: %v", err)
	case !r.mayBlock(tag):
		r.failf("publish tag %v: %v, though no lossless subscription has it", tag, err)
	default:
		synctest.Wait()
	}
}

// mayBlock tells whether somebody wants a tag who may make the publisher wait.
func (r *modelRun) mayBlock(tag tags.Tag) bool {
	return slices.ContainsFunc(r.subs[:], func(s *modelSubscriber) bool {
		return s.sub != nil && s.policy.Lossless() && s.set.Contains(tag)
	})
}

func (r *modelRun) resume(s *modelSubscriber) {
	s.stalled = false
	r.bed.net.Resume(netip.AddrPort{}, s.anyPort())
}

func (r *modelRun) subscribe(who int, s *modelSubscriber, set tags.Set) {
	if s.sub != nil || s.stalled || r.allRemoved(set) {
		return
	}
	time.Sleep(time.Minute) // so that it is connected or free to connect at once
	s.set, s.from = set, make(map[tags.Tag]uint64)
	s.delivered, s.last, s.lost = make(map[tags.Tag]uint64), make(map[tags.Tag]uint64), make(map[tags.Tag]uint64)
	s.gapsSeen = len(s.of(bus.Gap))
	for tag := range set.All() {
		s.from[tag], s.last[tag] = r.published[tag], r.published[tag]
	}
	var err error
	s.sub, err = s.SubscribeWith(set, func(m bus.Message) { r.deliver(who, s, m) }, bus.SubscriptionConfig{Policy: s.policy})
	must(r.t, err)
	must(r.t, s.sub.Wait(r.t.Context()))
}

func (r *modelRun) deliver(who int, s *modelSubscriber, m bus.Message) {
	if !s.set.Contains(m.Tag) {
		r.failf("subscriber %d got tag %v, which it did not ask for", who, m.Tag)
	}
	if m.Counter <= s.last[m.Tag] {
		r.failf("subscriber %d, tag %v: counter %d after %d", who, m.Tag, m.Counter, s.last[m.Tag])
	}
	if string(m.Data) != string(payload(m.Tag, m.Counter)) {
		r.failf("subscriber %d, tag %v, counter %d: wrong bytes", who, m.Tag, m.Counter)
	}
	s.last[m.Tag] = m.Counter
	s.delivered[m.Tag]++
}

func (r *modelRun) unsubscribe(s *modelSubscriber) {
	if s.sub == nil || s.stalled {
		return
	}
	must(r.t, s.sub.Unsubscribe(r.t.Context()))
	synctest.Wait() // if the connection has just ended, the publisher hears of that by itself
	s.sub = nil
}

// account checks guarantee 2 for one subscriber.
func (r *modelRun) account(who int, s *modelSubscriber) {
	lost := s.lostNow()
	for tag := range lost {
		lost[tag] -= s.lost[tag]
	}
	for tag := range s.set.All() {
		published := r.published[tag] - s.from[tag]
		if got := s.delivered[tag] + lost[tag]; got != published {
			r.failf("subscriber %d, tag %v: delivered %d + lost %d = %d, published %d since the acknowledgement",
				who, tag, s.delivered[tag], lost[tag], got, published)
		}
	}
	if len(s.of(bus.Goodbye)) != 1 {
		r.failf("subscriber %d: no goodbye; events %v", who, s.kinds())
	}
}
