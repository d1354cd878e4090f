// SPDX-License-Identifier: Apache-2.0

package heartbeat_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/internal/heartbeat"
	"tagbus/internal/testkit/memnet"
)

// silence is what a tick has found.
type silence struct{ at, silent, allowed time.Duration }

// listen looks at a pulse in each tick of a clock, and returns what it finds.
func listen(t *testing.T, interval, timeout time.Duration, millis int) (b *bed, p *heartbeat.Pulse, found *[]silence) {
	t.Helper()
	p, found = new(heartbeat.Pulse), new([]silence)
	begun := time.Now()
	b = newBed(t, interval, timeout, func(now time.Time, late time.Duration) {
		if silent, allowed := p.Silent(now, late); allowed > 0 {
			*found = append(*found, silence{now.Sub(begun), silent, allowed})
		}
	})
	b.do(func() {
		p.Begin(&b.Clock, nil, b.Interval(), millis)
		b.Enter()
	})
	return b, p, found
}

func TestAPeerIsSilentAfterItsLimit(t *testing.T) {
	const s = time.Second
	hear := func(b *bed, p *heartbeat.Pulse) { b.do(p.Hear) }
	for _, x := range []struct {
		name              string
		interval, timeout time.Duration
		millis            int // that the peer promises
		then              func(b *bed, p *heartbeat.Pulse)
		want              silence // the first one; zero: none in an hour
	}{
		{"nothing comes", 2 * s, 6 * s, 2000, func(*bed, *heartbeat.Pulse) {}, silence{6500 * time.Millisecond, 6 * s, 6 * s}},
		{"the peer has a longer interval", 2 * s, 6 * s, 4000, func(*bed, *heartbeat.Pulse) {}, silence{12500 * time.Millisecond, 12 * s, 12 * s}},
		{"the peer promises nothing", 2 * s, 6 * s, 0, func(*bed, *heartbeat.Pulse) {}, silence{}},
		{"silence means nothing", 2 * s, -1, 2000, func(*bed, *heartbeat.Pulse) {}, silence{}},
		{"a side without beats ignores silence", -1, 6 * s, 2000, func(*bed, *heartbeat.Pulse) {}, silence{}},
		{"something comes, and then nothing", 2 * s, 6 * s, 2000, func(b *bed, p *heartbeat.Pulse) {
			time.Sleep(5800 * time.Millisecond)
			hear(b, p)
		}, silence{12 * s, 6 * s, 6 * s}},
		{"something comes again and again", 2 * s, 6 * s, 2000, func(b *bed, p *heartbeat.Pulse) {
			for range 1000 {
				time.Sleep(5 * s)
				hear(b, p)
			}
		}, silence{5006500 * time.Millisecond, 6 * s, 6 * s}},
		{"the loop is held for long", 2 * s, 6 * s, 2000, func(b *bed, _ *heartbeat.Pulse) {
			time.Sleep(2250 * time.Millisecond)
			b.loop.Freeze()
			time.Sleep(time.Minute)
			b.loop.Thaw()
		}, silence{66250 * time.Millisecond, 6 * s, 6 * s}},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, p, found := listen(t, x.interval, x.timeout, x.millis)
				x.then(b, p)
				time.Sleep(time.Hour)
				b.do(func() {
					var first silence
					if len(*found) > 0 {
						first = (*found)[0]
					}
					for _, d := range []time.Duration{first.at - x.want.at, first.silent - x.want.silent, first.allowed - x.want.allowed} {
						if d.Abs() > 5*time.Millisecond { // ticks follow each other by a little more than a period
							t.Errorf("got %+v, want %+v", first, x.want)
							break
						}
					}
				})
			})
		})
	}
}

// A connection that begins again has not been silent.
func TestAPulseBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, p, found := listen(t, 2*time.Second, 6*time.Second, 2000)
		for range 10 {
			time.Sleep(6 * time.Second)
			b.do(func() { p.Begin(&b.Clock, nil, b.Interval(), 2000) })
		}
		b.do(func() {
			if len(*found) > 0 {
				t.Errorf("got silences %v, want none", *found)
			}
		})
	})
}

func TestABeatIsDueAfterAnIntervalInWhichNothingIsSent(t *testing.T) {
	ticks := func(from, to, step int) (all []int) {
		for i := from; i <= to; i += step {
			all = append(all, i)
		}
		return all
	}
	never, always := func(int) bool { return false }, func(int) bool { return true }
	for _, x := range []struct {
		name       string
		interval   time.Duration
		sent, idle func(tick int) bool
		want       []int // the ticks of 20 in which a beat is due, 4 an interval
	}{
		{"nothing is sent", 2 * time.Second, never, always, ticks(4, 20, 4)},
		{"something is sent always", 2 * time.Second, always, always, nil},
		{"something is sent now and then", 2 * time.Second, func(tick int) bool { return tick == 3 || tick == 6 }, always, ticks(10, 20, 4)},
		{"something is on its way", 2 * time.Second, never, never, nil},
		{"something is on its way for a time", 2 * time.Second, never, func(tick int) bool { return tick > 10 }, ticks(11, 20, 4)},
		{"this side sends no beats", -1, never, always, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p heartbeat.Pulse
				var got []int
				var b *bed
				b = newBed(t, x.interval, 6*time.Second, func(now time.Time, _ time.Duration) {
					if p.Due(now, x.sent(b.ticks), x.idle(b.ticks)) {
						got = append(got, b.ticks)
					}
				})
				b.do(func() {
					p.Begin(&b.Clock, nil, b.Interval(), 0)
					b.Enter()
				})
				b.in(10*time.Second + 100*time.Millisecond)
				if !slices.Equal(got, x.want) {
					t.Errorf("got beats in the ticks %v, want %v", got, x.want)
				}
			})
		})
	}
}

// A wait ends when the limit and a quarter of it have passed, however often it is begun
// meanwhile; not after what was awaited has come; and not for time in which the loop
// was held.
func TestADeadlineCountsTheTimeInWhichAPeerCanBeHeard(t *testing.T) {
	const limit = 4 * time.Second
	tests := []struct {
		name string
		then func(d *heartbeat.Deadline, loop *memnet.Loop, await func())
		want time.Duration // 0: not missed
	}{
		{"nothing comes", func(*heartbeat.Deadline, *memnet.Loop, func()) {}, 5 * time.Second},
		{"it comes", func(d *heartbeat.Deadline, loop *memnet.Loop, _ func()) {
			time.Sleep(4 * time.Second)
			loop.Do(d.Met)
			loop.Do(d.Met)
		}, 0},
		{"it is awaited again meanwhile", func(_ *heartbeat.Deadline, loop *memnet.Loop, await func()) {
			time.Sleep(4 * time.Second)
			loop.Do(await)
		}, 5 * time.Second},
		{"it is awaited again afterwards", func(d *heartbeat.Deadline, loop *memnet.Loop, await func()) {
			time.Sleep(4 * time.Second)
			loop.Do(d.Met)
			loop.Do(await)
		}, 9 * time.Second},
		{"the loop is held for long", func(_ *heartbeat.Deadline, loop *memnet.Loop, _ func()) {
			time.Sleep(time.Second)
			loop.Freeze()
			time.Sleep(time.Minute)
			loop.Thaw()
		}, 65 * time.Second},
		{"the loop is held before the end", func(_ *heartbeat.Deadline, loop *memnet.Loop, _ func()) {
			time.Sleep(4 * time.Second)
			loop.Freeze()
			time.Sleep(4 * time.Second)
			loop.Thaw()
		}, 11 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, begun := newBed(t, -1, -1, nil), time.Now()
				var d heartbeat.Deadline
				var missed []time.Duration
				b.do(d.Met) // nothing is awaited
				await := func() {
					d.Await(&b.alarms, limit, func() { missed = append(missed, time.Since(begun)) })
				}
				b.do(await)
				test.then(&d, b.loop, await)
				time.Sleep(time.Hour)
				b.do(func() {
					if test.want == 0 && len(missed) > 0 || test.want > 0 && (len(missed) != 1 || missed[0] != test.want) {
						t.Errorf("got a missed deadline after %v, want it after %v", missed, test.want)
					}
				})
			})
		})
	}
}

// When a peer was heard last is the end of the tick in which something came. What excuses
// its silence is no sign of life.
func TestWhenAPeerWasHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var none heartbeat.Pulse
		if !none.Heard().IsZero() {
			t.Errorf("before it begins: got %v, want none", none.Heard())
		}
		begun := time.Now()
		b, p, _ := listen(t, 2*time.Second, 6*time.Second, 2000)
		check := func(when string, want time.Duration) {
			t.Helper()
			synctest.Wait()
			if got := p.Heard().Sub(begun); got != want {
				t.Errorf("%s: heard after %v, want %v", when, got, want)
			}
		}
		check("at the beginning", 0)
		time.Sleep(1200 * time.Millisecond)
		b.do(p.Hear)
		time.Sleep(300 * time.Millisecond)
		check("something came", 1500*time.Millisecond)
		b.do(p.Excuse)
		time.Sleep(4 * time.Second)
		check("nothing could come", 1500*time.Millisecond)
		b.do(b.Leave)
	})
}
