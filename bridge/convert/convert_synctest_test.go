// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bridge/convert"
	"tagbus/bridge/in"
	"tagbus/bridge/internal/memlog"
	"tagbus/bridge/out"
	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/recording"
	"tagbus/tags"
)

// TestRun_equalsARecordingOfTheSource in everything but times: of several publishers of one tag, one that fails, one that
// vanishes, messages that were kept, and over a start of another bridge.
func TestRun_equalsARecordingOfTheSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		log := memlog.New(1<<20, nil)
		a, b, c := s.pump("a", tags.Of(1, 2, 3)), s.pump("b", tags.Of(1)), s.pump("c", tags.Of(1, 4))
		a.publish(1, 20) // of which 3 are wanted
		a.publish(2, 2)
		replay := bus.SubscriptionConfig{Replay: 3}
		rec := s.record(replay)
		_, end, _ := s.bridge(log, out.Config{Subscription: replay})
		s.must(a.WaitSubscribers(t.Context(), 2, tags.Of(1, 2, 3)))
		s.must(b.WaitSubscribers(t.Context(), 2, tags.Of(1)))
		s.must(c.WaitSubscribers(t.Context(), 2, tags.Of(1, 4)))
		for range 10 {
			a.publish(1, 20)
			b.publish(1, 10)
			c.publish(4, 10)
			a.publish(2, 20)
		}
		time.Sleep(time.Second)
		end() // and another one goes on
		_, end, _ = s.bridge(log, out.Config{Subscription: replay})
		s.must(a.WaitSubscribers(t.Context(), 2, tags.Of(1, 2, 3)))
		s.must(b.WaitSubscribers(t.Context(), 2, tags.Of(1)))
		s.must(c.WaitSubscribers(t.Context(), 2, tags.Of(1, 4)))
		a.publish(1, 5)
		c.publish(1, 5)
		time.Sleep(time.Second)
		b.end(errors.New("it burns"))
		c.network.Kill(c.at)
		s.dir.Expire(c.Instance(), directory.ErrExpired)
		time.Sleep(10 * time.Minute)
		a.publish(1, 5)
		a.end(nil)
		time.Sleep(time.Second)
		end()
		want := rec.end()
		got, report := s.convert(log, convert.Config{})
		equal(t, got, want)
		if !slices.IsSortedFunc(got.times, time.Time.Compare) {
			t.Error("the messages are not in the order of their times")
		}
		if report.Unknown != 1 || report.Chains != 5 || report.Messages == 0 || report.Lost+report.Hole+report.Repeated > 0 || report.Begun != 0 {
			t.Errorf("got %+v", report)
		}
		// A window of one record keeps the order of each series, too.
		got, _ = s.convert(log, convert.Config{WindowBytes: 1})
		equal(t, got, want)
	})
}

// TestRun_losses are gaps with the cause and count that a recording of the source has.
func TestRun_losses(t *testing.T) {
	for _, policy := range []bus.Policy{{Kind: bus.DropNewest}, {Kind: bus.DropOldest}, {Kind: bus.Latest}, {}} {
		t.Run(policy.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t)
				log := memlog.New(1<<20, nil)
				a := s.pump("a", tags.Of(1, 2))
				cfg := bus.SubscriptionConfig{Policy: policy}
				rec := s.record(cfg)
				p, end, _ := s.bridge(log, out.Config{Subscription: cfg})
				s.must(a.WaitSubscribers(t.Context(), 2, tags.Of(1, 2)))
				a.publish(1, 20)
				// Both fall behind in the same way.
				from := netip.AddrPortFrom(a.at, 0)
				hosts := []netip.AddrPort{netip.AddrPortFrom(rec.host, 0), netip.AddrPortFrom(p.host, 0)}
				for _, to := range hosts {
					s.network.Partition(from, to)
				}
				data := make([]byte, 3000)
				for range 200 {
					if err := a.Publish(1, data); err != nil && !errors.Is(err, bus.ErrNoResources) {
						t.Fatal(err)
					}
					a.Flush()
					time.Sleep(time.Millisecond)
				}
				pause := time.Second // for which connections last
				if policy.Lossless() {
					for _, to := range hosts {
						s.network.Reset(from, to)
					}
					pause = time.Minute
				}
				time.Sleep(pause)
				for _, to := range hosts {
					s.network.Heal(from, to)
				}
				time.Sleep(time.Minute)
				a.publish(1, 10)
				a.publish(2, 10)
				a.end(nil)
				time.Sleep(time.Second)
				end()
				want := rec.end()
				if len(want.series["a "+tags.Tag(1).String()].gaps) == 0 {
					t.Errorf("got no loss, want some")
				}
				got, _ := s.convert(log, convert.Config{})
				equal(t, got, want)
			})
		})
	}
}

// TestRun_whatNoBridgeGot is a gap with a text.
func TestRun_whatNoBridgeGot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		log := memlog.New(1<<20, nil)
		a := s.pump("a", tags.Of(1))
		_, _, kill := s.bridge(log, out.Config{})
		s.must(a.WaitSubscribers(t.Context(), 1, tags.Of(1)))
		a.publish(1, 20)
		time.Sleep(time.Second)
		kill()
		a.publish(1, 7)
		log = log.Reopen(nil)
		_, end, _ := s.bridge(log, out.Config{})
		s.must(a.WaitSubscribers(t.Context(), 1, tags.Of(1)))
		a.publish(1, 3)
		time.Sleep(time.Second)
		end()
		got, report := s.convert(log, convert.Config{})
		series := got.series["a "+tags.Tag(1).String()]
		if len(series.messages) != 23 || series.gaps[recording.CauseOther] != 7 || report.Lost != 7 || got.report.Total().Unexplained > 0 {
			t.Errorf("got %d messages, gaps %v and %+v, want 23 and 7 lost", len(series.messages), series.gaps, report)
		}
	})
}

// TestFromALogToAnotherBus: a recording made there equals one of the source in everything but times and instance, where the
// log is whole and each tag has one publisher.
func TestFromALogToAnotherBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := newSite(t), newSite(t)
		log := memlog.New(1<<20, nil)
		a := here.pump("a", tags.Of(1, 2))
		rec := here.record(bus.SubscriptionConfig{})
		_, end, _ := here.bridge(log, out.Config{})
		here.must(a.WaitSubscribers(t.Context(), 2, tags.Of(1, 2)))
		for range 10 {
			a.publish(1, 20)
			a.publish(2, 30)
		}
		a.end(nil)
		time.Sleep(time.Second)
		end()
		want := rec.end()

		second := there.record(bus.SubscriptionConfig{})
		report, err := in.Run(t.Context(), there.process(), log, in.Config{
			Subscribers: 1, Publisher: bus.PublisherConfig{Common: bus.Common{Name: "a"}},
		})
		there.must(err)
		time.Sleep(time.Second)
		got := second.end()
		if report.Messages != 500 || report.Lost+report.Hole > 0 {
			t.Errorf("got %+v, want 500 messages", report)
		}
		for key, series := range want.series { // of another instance
			if other := got.series[key]; other != nil {
				series.peers = other.peers
			}
		}
		equal(t, got, want)
	})
}
