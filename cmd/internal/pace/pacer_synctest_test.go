// SPDX-License-Identifier: Apache-2.0

package pace_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/cmd/internal/pace"
	"tagbus/cmd/internal/units"
)

func TestPacerKeepsTheRate(t *testing.T) {
	tests := []struct {
		name     string
		rate     units.Rate
		messages int
		want     time.Duration // from the first message to the last
	}{
		{"one every ten seconds", 0.1, 4, 30 * time.Second},
		{"one a second", 1, 11, 10 * time.Second},
		{"just below one a batch", 499, 500, time.Second},
		{"many a batch", 50e3, 50e3 + 1, time.Second},
		{"a rate that no number of ticks divides", 1234, 1234*3 + 1, 3 * time.Second},
		{"faster than one can publish", 100e6, 1e6 + 1, 10 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, start := pace.New(test.rate), time.Now()
				for range test.messages {
					if err := p.Wait(t.Context()); err != nil {
						t.Fatalf("Wait: %v", err)
					}
				}
				if got := time.Since(start); got < test.want-4*time.Millisecond || got > test.want+4*time.Millisecond {
					t.Errorf("got %d messages in %v, want %v", test.messages, got, test.want)
				}
			})
		})
	}
}

func TestPacerCatchesUpALittle(t *testing.T) {
	tests := []struct {
		name  string
		stall time.Duration
		want  int // messages at once after it
	}{
		{"a short stall is made up for", 50 * time.Millisecond, 50},
		{"a long stall is not", time.Second, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := pace.New(1000)
				wait := func() {
					if err := p.Wait(t.Context()); err != nil {
						t.Fatalf("Wait: %v", err)
					}
				}
				wait()
				time.Sleep(test.stall)
				got := -1
				for start := time.Now(); time.Since(start) == 0; got++ {
					wait()
				}
				if got < test.want-3 || got > test.want+3 {
					t.Errorf("got %d messages at once after %v, want about %d", got, test.stall, test.want)
				}
			})
		})
	}
}

func TestPacerStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		p := pace.New(1)
		if err := p.Wait(ctx); err != nil {
			t.Fatalf("first Wait: %v", err)
		}
		time.AfterFunc(100*time.Millisecond, func() { cancel(want) })
		start := time.Now()
		if err := p.Wait(ctx); !errors.Is(err, want) {
			t.Errorf("second Wait: got %v, want %v", err, want)
		}
		if got := time.Since(start); got != 100*time.Millisecond {
			t.Errorf("second Wait: got an end after %v, want 100ms", got)
		}
	})
}
