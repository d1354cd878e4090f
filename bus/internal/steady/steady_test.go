// SPDX-License-Identifier: Apache-2.0

package steady_test

import (
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/internal/steady"
	"tagbus/internal/testkit/wallclock"
)

func TestTimesAreAsFarApartAsWhatHappened(t *testing.T) {
	before := time.Now()
	for _, set := range []time.Duration{0, time.Hour, -5 * time.Hour, -20 * 365 * 24 * time.Hour} {
		after := wallclock.Set(before.Add(3*time.Second), set)
		if got := steady.Time(after).Sub(steady.Time(before)); got != 3*time.Second {
			t.Errorf("the clock is set by %v: %v apart, want 3s", set, got)
		}
		if got := steady.Ahead(after); (got - set).Abs() > time.Second {
			t.Errorf("the clock is set by %v: got %v ahead", set, got)
		}
		if first, again := steady.Ahead(after), steady.Ahead(wallclock.Set(after, 300*time.Millisecond)); first != again {
			t.Errorf("the clock is set by %v: got %v, and %v of one that was not set again", set, first, again)
		}
	}
}

func TestTimesThatAreNotOfTheClockStayAsTheyAre(t *testing.T) {
	for _, at := range []time.Time{{}, time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC), time.Now().Round(0).UTC()} {
		if got := steady.Time(at); !got.Equal(at) {
			t.Errorf("got %v, want %v", got, at)
		}
	}
	synctest.Test(t, func(t *testing.T) { // where time is another one
		if got, want := steady.Time(time.Now()), time.Now(); !got.Equal(want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}
