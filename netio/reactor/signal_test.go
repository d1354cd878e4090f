// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"errors"
	"sync"
	"testing"

	"tagbus/netio/reactor"
)

func TestSignal_Fire_aSemaphoreAnswersEach(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			const goroutines, fires = 8, 2500
			loop, stop := started(t, config)
			answers := 0
			done := make(chan struct{})
			s := newSignal(t, loop, reactor.Semaphore, func() {
				if answers++; answers == goroutines*fires {
					close(done)
				}
			})
			for range goroutines {
				go func() {
					for range fires {
						s.Fire()
					}
				}()
			}
			await(t, done, "an answer to each fire")
			stop() // and not one more; a second close of done would panic
			if want := goroutines * fires; answers != want {
				t.Errorf("callbacks: got %d, want %d", answers, want)
			}
		})
	}
}

func TestSignal_Fire_aCoalescingOneAnswersTogether(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			loop := newLoop(t, config)
			tests := []struct {
				mode reactor.SignalMode
				want int
			}{{reactor.Coalescing, 1}, {reactor.Semaphore, 5}}
			got := make([]int, len(tests))
			for i, test := range tests {
				s := newSignal(t, loop, test.mode, func() { got[i]++ })
				for range 5 {
					s.Fire() // before Run, so nothing is answered in between
				}
			}
			stopAfter(t, loop, func() bool { return got[0] >= 1 && got[1] >= 5 })
			run(t, loop)
			for i, test := range tests {
				if got[i] != test.want {
					t.Errorf("%v: got %d callbacks for 5 fires, want %d", test.mode, got[i], test.want)
				}
			}
		})
	}
}

// TestSignal_Fire_isNeverForgotten: what was written before a fire is seen by a callback
// after it, however the two interleave.
func TestSignal_Fire_isNeverForgotten(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			const goroutines, fires = 4, 2500
			loop, _ := started(t, config)
			var mu sync.Mutex
			written := 0
			done := make(chan struct{})
			s := newSignal(t, loop, reactor.Coalescing, func() {
				mu.Lock()
				defer mu.Unlock()
				if written == goroutines*fires {
					written++ // only once
					close(done)
				}
			})
			for range goroutines {
				go func() {
					for range fires {
						mu.Lock()
						written++
						mu.Unlock()
						s.Fire()
					}
				}()
			}
			await(t, done, "a callback that sees the last write")
		})
	}
}

func TestSignal_Fire_insideTheCallback(t *testing.T) {
	for _, signalMode := range []reactor.SignalMode{reactor.Coalescing, reactor.Semaphore} {
		t.Run(signalMode.String(), func(t *testing.T) {
			for _, mode := range modes {
				t.Run(mode.name, func(t *testing.T) {
					config := mode.config
					loop := newLoop(t, config)
					const callbacks = 1000
					count, depth := 0, 0
					var s *reactor.Signal
					s = newSignal(t, loop, signalMode, func() {
						if depth++; depth != 1 {
							t.Error("the callback runs inside itself")
						}
						if count++; count < callbacks {
							s.Fire()
						}
						depth--
					})
					s.Fire()
					stopAfter(t, loop, func() bool { return count >= callbacks })
					run(t, loop)
					if count != callbacks {
						t.Errorf("callbacks: got %d, want %d", count, callbacks)
					}
				})
			}
		})
	}
}

// TestSignal_pollingDoesNotStarveOthers: signals that fire themselves for ever,
// and a descriptor that becomes ready meanwhile.
func TestSignal_pollingDoesNotStarveOthers(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			config.MaxEvents = 1
			loop := newLoop(t, config)
			var counts [3]int
			for i := range counts {
				var s *reactor.Signal
				s = newSignal(t, loop, reactor.SignalMode(i%2), func() {
					counts[i]++
					s.Fire()
				})
				s.Fire()
			}
			fd := eventfd(t, 0)
			events := 0
			register(t, loop, fd, reactor.Readable, sourceFunc(func(reactor.Events) {
				reset(fd)
				if events++; events == 100 {
					loop.Stop()
					return
				}
				add(t, fd)
			}))
			loop.Post(func() { add(t, fd) })
			run(t, loop)
			for i, n := range counts {
				if n < 50 {
					t.Errorf("callbacks of signal %d while a descriptor had 100: got %d, want about as many", i, n)
				}
			}
		})
	}
}

func TestSignal_Close_endsIt(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			config := mode.config
			tests := []struct {
				name string
				mode reactor.SignalMode
				want int // callbacks for 3 fires, the first of which closes
			}{
				{"inside the callback", reactor.Coalescing, 1},
				{"inside the callback, with fires left", reactor.Semaphore, 1},
			}
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) {
					loop := newLoop(t, config)
					count := 0
					var s *reactor.Signal
					s = newSignal(t, loop, test.mode, func() {
						count++
						for range 2 {
							if err := s.Close(); err != nil {
								t.Errorf("Close: %v", err)
							}
						}
						s.Fire()
					})
					stopAfter(t, loop, func() bool { return count >= test.want })
					for range 3 {
						s.Fire()
					}
					run(t, loop)
					if count != test.want {
						t.Errorf("callbacks: got %d, want %d", count, test.want)
					}
				})
			}
			t.Run("by another signal of the same batch", func(t *testing.T) {
				loop := newLoop(t, config)
				var signals [2]*reactor.Signal
				count := 0
				for i := range signals {
					signals[i] = newSignal(t, loop, reactor.Semaphore, func() {
						count++
						if err := signals[1-i].Close(); err != nil {
							t.Errorf("Close: %v", err)
						}
					})
					signals[i].Fire()
				}
				stopAfter(t, loop, func() bool { return count >= 1 })
				run(t, loop)
				if count != 1 {
					t.Errorf("callbacks: got %d, want 1", count)
				}
			})
			t.Run("while others fire", func(t *testing.T) {
				loop, _ := started(t, config)
				for range 50 {
					s := newSignal(t, loop, reactor.Semaphore, func() {})
					var firing sync.WaitGroup
					for range 4 {
						firing.Go(func() {
							for range 20 {
								s.Fire()
							}
						})
					}
					if err := s.Close(); err != nil {
						t.Errorf("Close: %v", err)
					}
					firing.Wait()
				}
			})
		})
	}
}

func TestEventLoop_NewSignal_refuses(t *testing.T) {
	loop := newLoop(t, reactor.Config{})
	if _, err := loop.NewSignal(reactor.Coalescing, nil); !errors.Is(err, reactor.ErrNoCallback) {
		t.Errorf("no callback: got %v, want ErrNoCallback", err)
	}
	var refused *reactor.ConfigError
	if _, err := loop.NewSignal(7, func() {}); !errors.As(err, &refused) {
		t.Errorf("unknown mode: got %v, want a ConfigError", err)
	}
}

func TestSignal_allocatesNothing(t *testing.T) {
	tests := []struct {
		name string
		mode reactor.SignalMode
	}{
		{"coalescing", reactor.Coalescing},
		{"semaphore", reactor.Semaphore},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, mode := range modes {
				t.Run(mode.name, func(t *testing.T) {
					config := mode.config
					loop := newLoop(t, config)
					var next func()
					s := newSignal(t, loop, test.mode, func() { next() })
					expectNoAllocs(t, allocsPer(t, loop, func(n func()) { next = n; s.Fire() }), "signal")
				})
			}
		})
	}
}
