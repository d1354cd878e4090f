// SPDX-License-Identifier: Apache-2.0

package heartbeat_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/internal/heartbeat"
	"tagbus/netio"
)

func TestTheIntervalGrowsWithTheConnections(t *testing.T) {
	const s = time.Second
	for _, x := range []struct {
		name        string
		interval    time.Duration
		connections int
		want        time.Duration
	}{
		{"one", 2 * s, 1, 2 * s},
		{"some", 2 * s, 500, 2 * s},
		{"many", 2 * s, 1000, 8 * s},
		{"more", 2 * s, 1500, 18 * s},
		{"very many", 2 * s, 10_000, 30 * s},
		{"as many as can be", 2 * s, 1 << 20, 30 * s},
		{"a short interval", 10 * time.Millisecond, 10_000, 4 * s},
		{"the longest stretch is configured", 30 * s, 10_000, 30 * s},
		{"more than the longest stretch is configured", time.Hour, 1 << 20, time.Hour},
		{"no beats", -1, 10_000, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, x.interval, -1, nil)
				if got := b.Stretched(x.connections); got != x.want {
					t.Errorf("got %v, want %v", got, x.want)
				}
			})
		})
	}
}

// All connections together have no more beats than so many, however many came first.
func TestACrowdHasFewBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, beats := newBed(t, 2*time.Second, -1, nil), 0.0
		for n := 1; n <= 100_000; n++ {
			beats += float64(time.Second) / float64(b.Stretched(n))
			if most := 500 + float64(n)/30; beats > most {
				t.Fatalf("%d connections: got %v beats per second, want at most %v", n, beats, most)
			}
		}
	})
}

func TestASideThatDialsFollowsTheOther(t *testing.T) {
	const s = time.Second
	for _, x := range []struct {
		name     string
		interval time.Duration
		millis   int
		want     time.Duration
	}{
		{"the peer promises nothing", 2 * s, 0, 2 * s},
		{"the peer beats more often", 2 * s, 100, 2 * s},
		{"the peer beats less often", 2 * s, 8000, 8 * s},
		{"the peer beats once an hour", 2 * s, 3_600_000, 30 * s},
		{"this side beats less often than it ever follows", 60 * s, 40_000, 60 * s},
		{"this side sends no beats", -1, 8000, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, x.interval, -1, nil)
				if got := b.Following(x.millis); got != x.want {
					t.Errorf("got %v, want %v", got, x.want)
				}
			})
		})
	}
}

// The silence allowed is three of the longer interval, if this side has stretched its own.
func TestAStretchedIntervalAllowsMoreSilence(t *testing.T) {
	const s = time.Second
	for _, x := range []struct {
		name           string
		timeout, every time.Duration
		millis         int
		want           time.Duration
	}{
		{"as configured", 4 * s, 2 * s, 1000, 4 * s},
		{"stretched", 6 * s, 8 * s, 2000, 24 * s},
		{"stretched, and a timeout that is longer still", 60 * s, 8 * s, 2000, 60 * s},
		{"stretched, and a peer that beats less often still", 6 * s, 8 * s, 10_000, 30 * s},
		{"stretched, and a peer without beats", 6 * s, 8 * s, 0, 0},
		{"stretched, and silence means nothing", -1, 8 * s, 2000, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var b *bed
				var p heartbeat.Pulse
				var got time.Duration
				begun := time.Now()
				var at time.Duration
				b = newBed(t, 2*s, x.timeout, func(now time.Time, late time.Duration) {
					if _, allowed := p.Silent(now, late); allowed > 0 && got == 0 {
						got, at = allowed, now.Sub(begun)
					}
				})
				b.do(func() {
					p.Begin(&b.Clock, nil, x.every, x.millis)
					b.Enter()
				})
				time.Sleep(10 * time.Minute)
				b.do(func() {
					if got != x.want || at < x.want || at > x.want+time.Second {
						t.Errorf("got silent after %v, %v allowed, want %v", at, got, x.want)
					}
				})
			})
		})
	}
}

// The system asks for signs of life later than the beats come.
func TestTheSystemAsksLaterThanTheBeatsCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, 2*time.Second, 6*time.Second, nil)
		for every, want := range map[time.Duration]time.Duration{
			0: 0, 2 * time.Second: 3 * time.Second, 8 * time.Second: 12 * time.Second, time.Hour: 45 * time.Second,
		} {
			var p heartbeat.Pulse
			ep := &probed{}
			b.do(func() { p.Begin(&b.Clock, ep, every, 2000) })
			if ep.after != want {
				t.Errorf("beats every %v: got probes after %v, want %v", every, ep.after, want)
			}
		}
	})
}

// probed is an endpoint whose system asks for signs of life.
type probed struct {
	netio.Endpoint
	after time.Duration
}

// ProbeAfter implements netio.Prober.
func (e *probed) ProbeAfter(silence time.Duration) { e.after = silence }
