// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"slices"
	"testing"
	"time"

	"tagbus/netio/reactor"
)

// BenchmarkTurn is a turn without events: what polling costs.
func BenchmarkTurn(b *testing.B) {
	for _, mode := range modes {
		b.Run(mode.name, func(b *testing.B) {
			b.ReportAllocs()
			config := mode.config
			loop := newLoop(b, config)
			n := 0
			if _, err := loop.AddPrepare(prepareFunc(func() bool {
				if n++; n > b.N {
					loop.Stop()
				}
				return false
			})); err != nil {
				b.Fatal(err)
			}
			b.ResetTimer()
			run(b, loop)
		})
	}
}

// BenchmarkEvent is an event of one of 64 descriptors that are always ready.
func BenchmarkEvent(b *testing.B) {
	for _, mode := range modes {
		b.Run(mode.name, func(b *testing.B) {
			b.ReportAllocs()
			config := mode.config
			loop := newLoop(b, config)
			n := 0
			count := sourceFunc(func(reactor.Events) {
				if n++; n == b.N {
					loop.Stop()
				}
			})
			for range 64 {
				register(b, loop, eventfd(b, 1), reactor.Readable, count)
			}
			b.ResetTimer()
			run(b, loop)
		})
	}
}

// BenchmarkPost is a function that posts itself: a turn each; and a batch of
// them.
func BenchmarkPost(b *testing.B) {
	b.Run("from=loop", func(b *testing.B) {
		for _, mode := range modes {
			b.Run(mode.name, func(b *testing.B) {
				b.ReportAllocs()
				config := mode.config
				loop := newLoop(b, config)
				n := 0
				var again func()
				again = func() {
					if n++; n == b.N {
						loop.Stop()
						return
					}
					loop.Post(again)
				}
				loop.Post(again)
				b.ResetTimer()
				run(b, loop)
			})
		}
	})
	b.Run("from=loop,batch=256", func(b *testing.B) {
		for _, mode := range modes {
			b.Run(mode.name, func(b *testing.B) {
				b.ReportAllocs()
				config := mode.config
				loop := newLoop(b, config)
				n := 0
				count := func() {
					if n++; n == b.N {
						loop.Stop()
					}
				}
				var fill func()
				fill = func() {
					for range 255 {
						loop.Post(count)
					}
					loop.Post(fill)
					count()
				}
				loop.Post(fill)
				b.ResetTimer()
				run(b, loop)
			})
		}
	})
	b.Run("from=elsewhere,round trip", func(b *testing.B) {
		for _, mode := range modes {
			b.Run(mode.name, func(b *testing.B) {
				b.ReportAllocs()
				config := mode.config
				loop, stop := started(b, config)
				back := make(chan struct{})
				answer := func() { back <- struct{}{} }
				b.ResetTimer()
				for range b.N {
					loop.Post(answer)
					<-back
				}
				b.StopTimer()
				stop()
			})
		}
	})
}

// BenchmarkSignal is from Fire to the callback.
func BenchmarkSignal(b *testing.B) {
	b.Run("from=its callback", func(b *testing.B) {
		for _, mode := range modes {
			b.Run(mode.name, func(b *testing.B) {
				b.ReportAllocs()
				config := mode.config
				loop := newLoop(b, config)
				n := 0
				var s *reactor.Signal
				s = newSignal(b, loop, reactor.Semaphore, func() {
					if n++; n == b.N {
						loop.Stop()
					}
					s.Fire()
				})
				s.Fire()
				b.ResetTimer()
				run(b, loop)
			})
		}
	})
	b.Run("from=loop", func(b *testing.B) {
		for _, mode := range modes {
			b.Run(mode.name, func(b *testing.B) {
				b.ReportAllocs()
				config := mode.config
				loop := newLoop(b, config)
				n := 0
				var signals [2]*reactor.Signal
				for i := range signals {
					signals[i] = newSignal(b, loop, reactor.Semaphore, func() {
						if n++; n == b.N {
							loop.Stop()
						}
						signals[1-i].Fire()
					})
				}
				signals[0].Fire()
				b.ResetTimer()
				run(b, loop)
			})
		}
	})
	b.Run("from=another loop", func(b *testing.B) {
		for _, mode := range modes {
			b.Run(mode.name, func(b *testing.B) {
				b.ReportAllocs()
				config := mode.config
				first, _ := started(b, config)
				second, _ := started(b, config)
				done := make(chan struct{})
				var forth, back *reactor.Signal
				n := 0
				latencies := make([]time.Duration, 0, b.N)
				var fired time.Time // handed to and fro with the signals
				forth = newSignal(b, second, reactor.Coalescing, func() {
					latencies = append(latencies, time.Since(fired))
					back.Fire()
				})
				back = newSignal(b, first, reactor.Coalescing, func() {
					if n++; n > b.N {
						close(done)
						return
					}
					fired = time.Now()
					forth.Fire()
				})
				b.ResetTimer()
				back.Fire()
				<-done
				b.StopTimer()
				reportQuantiles(b, latencies, "wake-up")
			})
		}
	})
}

// BenchmarkTimer is a timer of 1 ms in a loop that sleeps: how late is it?
func BenchmarkTimer(b *testing.B) {
	for _, mode := range modes {
		b.Run(mode.name, func(b *testing.B) {
			b.ReportAllocs()
			config := mode.config
			const delay = time.Millisecond
			loop := newLoop(b, config)
			late := make([]time.Duration, 0, b.N)
			var began time.Time
			var timer *reactor.Timer
			timer = newTimer(b, loop, func() {
				late = append(late, time.Since(began)-delay)
				if len(late) == b.N {
					loop.Stop()
					return
				}
				began = time.Now()
				startOnce(b, timer, delay)
			})
			began = time.Now()
			startOnce(b, timer, delay)
			b.ResetTimer()
			run(b, loop)
			b.StopTimer()
			reportQuantiles(b, late, "late")
		})
	}
}

func BenchmarkOnLoop(b *testing.B) {
	loop, _ := started(b, reactor.Config{})
	b.ReportAllocs()
	for b.Loop() {
		loop.OnLoop()
	}
}

func reportQuantiles(b *testing.B, d []time.Duration, what string) {
	b.Helper()
	slices.Sort(d)
	microseconds := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	b.ReportMetric(microseconds(d[len(d)/2]), "p50-µs-"+what)
	b.ReportMetric(microseconds(d[len(d)*99/100]), "p99-µs-"+what)
}
