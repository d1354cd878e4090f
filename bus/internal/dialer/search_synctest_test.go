// SPDX-License-Identifier: Apache-2.0

package dialer_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/internal/dialer"
)

// A search ends after some tries, or after a while, and is not on again until it begins again.
func TestSearch(t *testing.T) {
	for _, test := range []struct {
		name  string
		tried bool
		pause time.Duration // before each failure
		tries int
	}{
		{"at once", false, 0, 3},
		{"tried before", true, 0, 1},
		{"slowly", false, 1100 * time.Millisecond, 2},
		{"too slowly", false, 3 * time.Second, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s dialer.Search
				if s.On() || s.Done() {
					t.Error("on, or done, before it has begun")
				}
				for range 2 {
					s.Begin(test.tried)
					for try := 1; ; try++ {
						if !s.On() || s.Done() {
							t.Fatalf("before try %d: on is %v, done %v", try, s.On(), s.Done())
						}
						time.Sleep(test.pause)
						if last := s.Failed(); last != (try == test.tries) {
							t.Fatalf("try %d was the last one: %v, want %d of them", try, last, test.tries)
						} else if last {
							break
						}
					}
					if s.On() || !s.Done() {
						t.Errorf("at the end: on is %v, done %v", s.On(), s.Done())
					}
				}
			})
		})
	}
}
