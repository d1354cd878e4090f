// SPDX-License-Identifier: Apache-2.0

package alarm_test

import (
	"testing"
	"time"

	"tagbus/internal/alarm"
)

// still is a timer that never comes.
type still struct{ starts int }

func (s *still) StartOnce(time.Duration) error { s.starts++; return nil }
func (*still) Close() error                    { return nil }

// BenchmarkSet sets one of 10,000 alarms again, as a connection does that waits for its
// peer once more, and BenchmarkSetCancel does it for one whose peer came in time.
func BenchmarkSet(b *testing.B) { benchmark(b, func(*alarm.Clock, *alarm.Alarm) {}) }

func BenchmarkSetCancel(b *testing.B) { benchmark(b, (*alarm.Clock).Cancel) }

func benchmark(b *testing.B, after func(*alarm.Clock, *alarm.Alarm)) {
	timer := &still{}
	clock := &alarm.Clock{}
	if err := alarm.Open(clock, func(func()) (*still, error) { return timer, nil }); err != nil {
		b.Fatal(err)
	}
	alarms := make([]alarm.Alarm, 10_000)
	for i := range alarms {
		alarms[i].F = func() {}
		clock.Set(&alarms[i], 5*time.Second)
	}
	timer.starts = 0
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		a := &alarms[i%len(alarms)]
		clock.Set(a, 5*time.Second)
		after(clock, a)
		i++
	}
	b.ReportMetric(float64(timer.starts)/float64(b.N), "starts/op")
}
