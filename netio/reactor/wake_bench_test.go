// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"tagbus/netio/reactor"
)

// BenchmarkWake is from Post to the posted function, on a loop that sleeps. The posting
// goroutine blocks then, goes on working, or calls Gosched again and again; beside it
// another one works or calls Gosched. With WaitThread there is a processor more, as its
// documentation advises.
func BenchmarkWake(b *testing.B) {
	works := func() {}
	for _, posters := range []struct {
		name   string
		waits  func() // nil: by a channel
		beside func() // nil: none
	}{
		{"poster=blocks", nil, nil},
		{"poster=works", works, nil},
		{"poster=gosched", runtime.Gosched, nil},
		{"poster=blocks,beside=works", nil, works},
		{"poster=blocks,beside=gosched", nil, runtime.Gosched},
	} {
		b.Run(posters.name, func(b *testing.B) {
			for _, wait := range []reactor.WaitMode{reactor.WaitNetpoll, reactor.WaitThread} {
				for _, procs := range []int{1, 2} {
					if wait == reactor.WaitThread {
						procs++
					}
					b.Run(fmt.Sprintf("wait=%v,procs=%d", wait, procs), func(b *testing.B) {
						defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
						benchmarkWake(b, wait, posters.waits, posters.beside)
					})
				}
			}
		})
	}
}

func benchmarkWake(b *testing.B, wait reactor.WaitMode, waits, beside func()) {
	b.Helper()
	loop, _ := started(b, reactor.Config{Wait: wait})
	var over atomic.Bool
	defer over.Store(true)
	if beside != nil {
		go func() {
			for !over.Load() {
				beside()
			}
		}()
	}
	var posted time.Time // handed over with the function
	latencies := make([]time.Duration, 0, b.N)
	done := make(chan struct{}, 1)
	var ran atomic.Int64
	answer := func() {
		latencies = append(latencies, time.Since(posted))
		if waits == nil {
			done <- struct{}{}
		}
		ran.Add(1)
	}
	timer := time.NewTimer(time.Hour)
	b.ResetTimer()
	for i := range int64(b.N) {
		// The loop falls asleep.
		if waits == nil {
			timer.Reset(50 * time.Microsecond)
			<-timer.C
		}
		for began := time.Now(); time.Since(began) < 50*time.Microsecond && waits != nil; {
			waits()
		}
		posted = time.Now()
		loop.Post(answer)
		if waits == nil {
			<-done
		}
		for ran.Load() <= i {
			if waits == nil {
				runtime.Gosched()
			} else {
				waits()
			}
		}
	}
	b.StopTimer()
	reportQuantiles(b, latencies, "wake-up")
}
