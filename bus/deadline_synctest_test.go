package bus

import (
	"testing"
	"testing/synctest"
	"time"

	"tagbus/internal/alarm"
	"tagbus/netio/memnet"
)

// A wait times out after the limit and a quarter of it, however often it is begun
// meanwhile. It does not time out once the awaited has come, and time in which the loop
// was held does not count.
func TestADeadlineCountsTheTimeInWhichAPeerCanBeHeard(t *testing.T) {
	const limit = 4 * time.Second
	tests := []struct {
		name string
		then func(d *deadline, loop *memnet.Loop, await func())
		want time.Duration // 0: not missed
	}{
		{"nothing comes", func(*deadline, *memnet.Loop, func()) {}, 5 * time.Second},
		{"it comes", func(d *deadline, loop *memnet.Loop, _ func()) {
			time.Sleep(4 * time.Second)
			loop.Do(d.met)
			loop.Do(d.met)
		}, 0},
		{"it is awaited again meanwhile", func(_ *deadline, loop *memnet.Loop, await func()) {
			time.Sleep(4 * time.Second)
			loop.Do(await)
		}, 5 * time.Second},
		{"it is awaited again afterwards", func(d *deadline, loop *memnet.Loop, await func()) {
			time.Sleep(4 * time.Second)
			loop.Do(d.met)
			loop.Do(await)
		}, 9 * time.Second},
		{"the loop is held for long", func(_ *deadline, loop *memnet.Loop, _ func()) {
			time.Sleep(time.Second)
			loop.Freeze()
			time.Sleep(time.Minute)
			loop.Thaw()
		}, 65 * time.Second},
		{"the loop is held before the end", func(_ *deadline, loop *memnet.Loop, _ func()) {
			time.Sleep(4 * time.Second)
			loop.Freeze()
			time.Sleep(4 * time.Second)
			loop.Thaw()
		}, 11 * time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				loop, begun := memnet.NewLoop(), time.Now()
				defer loop.Close()
				var alarms alarm.Clock
				if err := alarm.Open(&alarms, loop.NewTimer); err != nil {
					t.Fatal(err)
				}
				var d deadline
				var missed []time.Duration
				loop.Do(d.met) // nothing is awaited
				await := func() {
					d.await(&alarms, limit, func() { missed = append(missed, time.Since(begun)) })
				}
				loop.Do(await)
				test.then(&d, loop, await)
				time.Sleep(time.Hour)
				loop.Do(func() {
					if test.want == 0 && len(missed) > 0 || test.want > 0 && (len(missed) != 1 || missed[0] != test.want) {
						t.Errorf("got a missed deadline after %v, want it after %v", missed, test.want)
					}
				})
			})
		})
	}
}
