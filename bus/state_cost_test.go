// SPDX-License-Identifier: Apache-2.0

package bus_test

import (
	"encoding/json"
	"fmt"
	"math"
	"syscall"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/subscription"
	"tagbus/tags"
)

// watched returns a publisher of so many tags, each of which had a message, with so many
// subscribers. Every tenth one wants all tags, and has lost some messages; each of the
// others wants some tags.
func watched(tb testing.TB, subscribers, known int) *publisher {
	tb.Helper()
	b := newBed(tb)
	p := b.publisher(bus.PublisherConfig{
		Tags: tagRange(tb, 0, tags.Tag(known-1)), Sending: bus.Sending{PageBytes: 4096, QueueBytes: 8192, MaxMessageBytes: 4000}, MaxSubscribers: subscribers,
		Common: bus.Common{HeartbeatInterval: bus.HeartbeatsOff},
	})
	for tag := range tags.Tag(known) {
		must(tb, p.Publish(tag, nil))
	}
	drops := bus.Policy{Kind: bus.DropNewest}.String()
	for i := range subscribers {
		s := b.lean(p, fmt.Sprint("subscriber ", i))
		set := tagRange(tb, 0, tags.Tag(known-1))
		if i%10 > 0 {
			set = tagRange(tb, tags.Tag(i*known/subscribers), tags.Tag((i+1)*known/subscribers-1))
		}
		s.subscribed(tb, subscription.Subscribe{ID: 1, Policy: drops}, set)
	}
	for range 50 { // more than a queue holds
		must(tb, p.Publish(1, make([]byte, 4000)))
	}
	return p
}

// What a question costs grows with what it asks for. Of the peers and tags that it does
// not ask for nothing is made.
func TestPublisher_State_aQuestionCostsWhatItAsksFor(t *testing.T) {
	allocations := func(subscribers, known int, q state.Question) float64 {
		p := watched(t, subscribers, known)
		now := time.Now()
		fewest := math.Inf(1) // the loops allocate besides
		for range 10 {
			fewest = min(fewest, testing.AllocsPerRun(3, func() {
				now = now.Add(time.Second)
				bus.StateAt(p.Publisher, q, now)
			}))
		}
		return fewest
	}
	few, many := state.Question{Peers: 2, Busiest: 2}, state.Question{Peers: 40, Busiest: 200}
	base := allocations(4, 2000, few)
	if got := allocations(40, 2000, few); got > base+20 {
		t.Errorf("ten times as many subscribers: got %v allocations, want about %v", got, base)
	}
	if got := allocations(4, 8000, few); got > base+20 {
		t.Errorf("four times as many tags: got %v allocations, want about %v", got, base)
	}
	if got := allocations(40, 8000, many); got < base+100 {
		t.Errorf("asked for more: got %v allocations, and %v for less", got, base)
	}
}

// BenchmarkState is the cost of a question to a publisher with 1,000 subscribers and
// 100,000 tags. At one question a second, 10 ms are 1 % of a core.
func BenchmarkState(b *testing.B) {
	p := watched(b, 1000, 100_000)
	var some tags.Set
	for i := range 20 {
		some = some.Union(tags.Of(tags.Tag(i * 5000)))
	}
	for _, x := range []struct {
		name string
		q    state.Question
	}{
		{"summary", state.Question{}},
		{"usual", state.Question{Peers: 50, Busiest: 50}},
		{"tags", state.Question{Tags: some}},
		{"most", state.Question{Peers: state.MaxPeers, Busiest: state.MaxTags, Tags: tagRange(b, 0, 99_999)}},
	} {
		now := time.Now()
		b.Run(x.name, func(b *testing.B) {
			var st state.State
			before := processorTime(b)
			for b.Loop() {
				now = now.Add(time.Second)
				st = bus.StateAt(p.Publisher, x.q, now)
			}
			reportShare(b, before)
			if st.KnownTags != 100_000 || st.Connected != 1000 {
				b.Errorf("got %d tags and %d subscribers", st.KnownTags, st.Connected)
			}
		})
		b.Run(x.name+" as JSON", func(b *testing.B) {
			bytes := 0
			before := processorTime(b)
			for b.Loop() {
				now = now.Add(time.Second)
				text, err := json.Marshal(bus.StateAt(p.Publisher, x.q, now))
				must(b, err)
				bytes = len(text)
			}
			reportShare(b, before)
			b.ReportMetric(float64(bytes), "bytes")
		})
	}
}

// processorTime returns how long the process has run on processors.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &use))
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// reportShare reports how much of a core one call a second takes, also for what the process
// does besides, as the garbage collector.
func reportShare(b *testing.B, before time.Duration) {
	b.Helper()
	b.ReportMetric(100*(processorTime(b)-before).Seconds()/float64(b.N), "%core")
}
