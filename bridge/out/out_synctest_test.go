// SPDX-License-Identifier: Apache-2.0

package out_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bridge/internal/memlog"
	"tagbus/bridge/out"
	"tagbus/bridge/record"
	"tagbus/bus"
	"tagbus/tags"
)

// TestBridge_writesAllThatIsPublished from the subscription until the goodbye.
func TestBridge_writesAllThatIsPublished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p, _, end := b.publisher(tags.Of(1, 2, 3))
		b.publish(p, 1, 4)
		b.publish(p, 2, 2)
		bridge, _ := b.bridge(out.Config{Tags: tags.Of(1, 2)})
		b.must(p.WaitSubscribers(t.Context(), 1, tags.Of(1, 2)))
		b.publish(p, 1, 1000)
		b.publish(p, 3, 10)
		b.wait()
		if st := bridge.Stats(); st.Messages != 1000 || st.Held != 0 || st.Chains != 2 {
			t.Errorf("got %+v, want 1000 messages of two tags", st)
		}
		end()
		b.wait()
		b.must(bridge.Close(t.Context()))
		if got := b.of(p, 1); got.begin != 5 || got.next != 1005 || got.messages != 1000 || got.end != record.Goodbye {
			t.Errorf("got %+v, want the messages 5 to 1004 and a goodbye", got)
		}
		if got := b.of(p, 2); got.begin != 3 || got.next != 3 || got.end != record.Goodbye {
			t.Errorf("got %+v of a silent tag, want its begin and its goodbye", got)
		}
		if n := len(b.read()); n != 2 {
			t.Errorf("got %d chains, want 2", n)
		}
	})
}

// TestBridge_afterAKill writes what the publisher still has, and says what it has not.
func TestBridge_afterAKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p, _, end := b.publisher(tags.Of(1, 2, 3))
		gone, _, endGone := b.publisher(tags.Of(7))
		cfg := out.Config{Tags: tags.Of(1, 2, 3, 7), Subscription: bus.SubscriptionConfig{Replay: 5}}
		first, o := b.bridge(cfg)
		b.must(p.WaitSubscribers(t.Context(), 1, tags.Of(1, 2, 3)))
		b.must(gone.WaitSubscribers(t.Context(), 1, tags.Of(7)))
		for _, tag := range []tags.Tag{1, 2, 3} {
			b.publish(p, tag, 20)
		}
		b.publish(gone, 7, 3)
		b.wait()
		b.kill(first, o)
		b.publish(p, 1, 3) // fewer than it keeps
		b.publish(p, 2, 9) // more
		endGone()

		second, _ := b.bridge(cfg)
		b.must(p.WaitSubscribers(t.Context(), 1, tags.Of(1, 2, 3)))
		b.publish(p, 1, 1)
		b.publish(p, 2, 1)
		time.Sleep(time.Minute)
		end()
		b.wait()
		b.must(second.Close(t.Context()))
		if got := b.of(p, 1); got.messages != 24 || got.lost != 0 || got.next != 25 || got.end != record.Goodbye {
			t.Errorf("got %+v, want all 24 messages", got)
		}
		if got := b.of(p, 2); got.messages != 26 || got.lost != 4 || got.causes[record.CauseAway] != 4 {
			t.Errorf("got %+v, want 26 messages, and 4 lost while the bridge was away", got)
		}
		if got := b.of(p, 3); got.messages != 20 || got.lost != 0 {
			t.Errorf("got %+v, want 20 messages", got)
		}
		if got := b.of(gone, 7); got.messages != 3 || got.end != record.Away {
			t.Errorf("got %+v, want an unknown end", got)
		}
	})
}

// TestBridge_aLogThatIsAway holds a publisher, or makes it lose: what it counts as lost is what the log has as lost.
func TestBridge_aLogThatIsAway(t *testing.T) {
	for _, test := range []struct {
		name   string
		policy bus.Policy
		cause  record.Cause
	}{
		{"block", bus.Policy{}, 0},
		{"drop the newest", bus.Policy{Kind: bus.DropNewest}, record.CauseFull},
		{"drop the oldest", bus.Policy{Kind: bus.DropOldest}, record.CauseFull},
		{"latest", bus.Policy{Kind: bus.Latest}, record.CauseLeftOut},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t)
				p, _, end := b.publisher(tags.Of(1))
				bridge, _ := b.bridge(out.Config{Tags: tags.Of(1), HeldBytes: 1 << 20, Subscription: bus.SubscriptionConfig{Policy: test.policy}})
				b.must(p.WaitSubscribers(t.Context(), 1, tags.Of(1)))
				b.publish(p, 1, 1)
				b.wait()
				b.log.SetAway(true)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				published, data := uint64(1), append(make([]byte, 7, 3000), 1)[:3000]
				for published < 2000 && p.PublishContext(ctx, 1, data) == nil {
					published++
				}
				if held := published < 2000; held != test.policy.Lossless() {
					t.Errorf("got held %t after %d messages, want %t", held, published, test.policy.Lossless())
				}
				b.wait()
				b.log.SetAway(false)
				time.Sleep(time.Minute)
				end()
				b.wait()
				b.must(bridge.Close(t.Context()))
				got := b.of(p, 1)
				if got.messages+got.lost != published || got.next != published+1 || got.end != record.Goodbye {
					t.Errorf("got %+v of %d messages", got, published)
				}
				if (got.lost > 0) == test.policy.Lossless() || got.causes[test.cause] != got.lost {
					t.Errorf("got %+v, want losses as the policy says", got)
				}
				if len(b.events.problems) != 1 || !errors.Is(b.events.problems[0], memlog.ErrAway) {
					t.Errorf("got the problems %v, want one of the outage", b.events.problems)
				}
			})
		})
	}
}

// TestBridge_aConnectionThatIsLost and a publisher that vanishes are in the log.
func TestBridge_aConnectionThatIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		p, host, _ := b.publisher(tags.Of(1), func(c *bus.PublisherConfig) { c.CacheMessages = 0 })
		bridge, o := b.bridge(out.Config{Tags: tags.Of(1)})
		b.must(p.WaitSubscribers(t.Context(), 1, tags.Of(1)))
		b.publish(p, 1, 10)
		b.wait()
		from, to := netip.AddrPortFrom(host, 0), netip.AddrPortFrom(o.host, 0)
		b.network.Partition(from, to)
		b.network.Reset(from, to)
		time.Sleep(time.Minute)
		b.publish(p, 1, 5)
		b.network.Heal(from, to)
		time.Sleep(time.Minute)
		b.publish(p, 1, 10)
		b.wait()
		if got := b.of(p, 1); got.messages != 20 || got.lost != 5 || got.causes[record.CauseConnection] != 5 {
			t.Errorf("got %+v, want 20 messages, and 5 lost with the connection", got)
		}
		b.network.Kill(host)
		time.Sleep(10 * time.Minute)
		b.must(bridge.Close(t.Context()))
		if got := b.of(p, 1); got.next != 26 || got.end != record.Vanished && got.end != record.Stopped {
			t.Errorf("got %+v, want all 25 messages", got)
		}
	})
}

// TestConfig_Validate names each violation.
func TestConfig_Validate(t *testing.T) {
	err := out.Config{
		HeldBytes: 1, MaxChains: -1, SpoolBytes: -1, SpoolPatience: -1, RecordBytes: 1, RecordMessages: -1, Flights: -1, Retry: -1, RetryMax: -2, Absence: -1,
		Subscription: bus.SubscriptionConfig{Batches: true, Replay: -1},
	}.Validate()
	if !errors.Is(err, out.ErrInvalidConfig) {
		t.Fatalf("got %v, want ErrInvalidConfig", err)
	}
	for _, want := range []string{"Tags are empty", "HeldBytes is 1", "MaxChains is -1", "SpoolBytes is -1", "SpoolPatience is -1ns", "RecordBytes is 1", "RecordMessages is -1", "Flights is -1", "Retry is -1ns", "RetryMax is -2ns", "Absence is -1ns", "Batches true", "Subscription: "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	if err := (out.Config{Tags: tags.Of(1)}).Validate(); err != nil {
		t.Errorf("got %v for the defaults, want nil", err)
	}
	if _, err := out.Start(t.Context(), nil, nil, out.Config{}); !errors.Is(err, out.ErrInvalidConfig) {
		t.Errorf("got %v from Start, want ErrInvalidConfig", err)
	}
}

// TestBridge_aSpool holds no publisher while the log is away, and outlives the bridge.
func TestBridge_aSpool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		dir := t.TempDir()
		cfg := out.Config{Tags: tags.Of(1, 2), HeldBytes: 1 << 20, Spool: dir, SpoolBytes: 64 << 20}
		p, _, end := b.publisher(tags.Of(1, 2))
		first, _ := b.bridge(cfg)
		b.must(p.WaitSubscribers(t.Context(), 1, tags.Of(1, 2)))
		b.publish(p, 1, 1)
		b.publish(p, 2, 1)
		b.wait()
		if _, err := out.Start(t.Context(), nil, b.log, cfg); !errors.Is(err, out.ErrSpoolInUse) {
			t.Errorf("got %v for a second bridge, want ErrSpoolInUse", err)
		}
		b.log.SetAway(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		data := append(make([]byte, 7, 3000), 1)[:3000]
		for range 3000 { // 9 MB
			b.must(p.PublishContext(ctx, 1, data))
		}
		b.publish(p, 2, 10)
		b.wait()
		if st := first.Stats(); st.Pauses > 0 && st.Held >= 1<<20 || st.SpoolBytes < 4<<20 || st.Spooled < 1500 || !st.Spooling {
			t.Errorf("got %+v, want most in the spool", st)
		}
		ended, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var unwritten *out.UnwrittenError
		if err := first.Close(ended); !errors.As(err, &unwritten) || unwritten.Messages != 0 || unwritten.Spooled != 3010 || !strings.Contains(err.Error(), dir) {
			t.Errorf("got %v, want 3010 messages in the spool", err)
		}

		b.log.SetAway(false)
		second, _ := b.bridge(cfg)
		b.must(p.WaitSubscribers(t.Context(), 1, tags.Of(1, 2)))
		b.publish(p, 1, 5)
		b.wait()
		end()
		b.wait()
		b.must(second.Close(t.Context()))
		if got := b.of(p, 1); got.messages != 3006 || got.lost > 0 || got.end != record.Goodbye {
			t.Errorf("got %+v, want 3006 messages", got)
		}
		if got := b.of(p, 2); got.messages != 11 || got.lost > 0 || got.end != record.Goodbye {
			t.Errorf("got %+v, want 11 messages", got)
		}
		var silent *out.SpoolSilentError
		var other *out.OtherLogError
		for _, err := range b.events.problems {
			if errors.As(err, &silent) || errors.As(err, &other) || errors.Is(err, out.ErrSpoolFull) {
				t.Errorf("got the problem %v, want none of the spool", err)
			}
		}
	})
}

// TestBridge_tooManyChains end the bridge in order, and the next one with a larger bound has all that publishers have kept.
func TestBridge_tooManyChains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t)
		cfg := out.Config{Tags: tags.Of(1, 2), MaxChains: 1, Subscription: bus.SubscriptionConfig{Replay: 5}}
		one, _, _ := b.publisher(tags.Of(1))
		first, _ := b.bridge(cfg)
		b.must(one.WaitSubscribers(t.Context(), 1, tags.Of(1)))
		b.publish(one, 1, 10)
		b.wait()
		two, _, _ := b.publisher(tags.Of(2))
		b.must(two.WaitSubscribers(t.Context(), 1, tags.Of(2)))
		b.publish(two, 2, 4)
		<-first.Failed()
		b.publish(one, 1, 3)
		b.wait()
		var many *out.TooManyError
		var unwritten *out.UnwrittenError
		err := first.Close(t.Context())
		if !errors.As(err, &many) || many.Limit != 1 || many.Key.Instance != two.Instance() || errors.As(err, &unwritten) || !strings.Contains(err.Error(), "raise MaxChains") {
			t.Errorf("got %v, want a *TooManyError of 1 alone", err)
		}
		if got := b.of(one, 1); got.messages != 10 || got.lost > 0 || got.end != record.Stopped {
			t.Errorf("got %+v, want 10 messages", got)
		}
		cfg.MaxChains = 2
		second, _ := b.bridge(cfg)
		b.wait()
		b.must(second.Close(t.Context()))
		if one, two := b.of(one, 1), b.of(two, 2); one.messages != 13 || one.lost > 0 || two.messages != 4 {
			t.Errorf("got %+v and %+v, want 13 and 4 messages", one, two)
		}
	})
}
