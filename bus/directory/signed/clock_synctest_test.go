// SPDX-License-Identifier: Apache-2.0

package signed_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/memory"
	"tagbus/bus/directory/signed"
)

// TestDirectory_aClockThatIsSetRight while the process lives: the entry is there some minutes later.
func TestDirectory_aClockThatIsSetRight(t *testing.T) {
	for _, c := range []struct {
		name  string
		ahead time.Duration // before it is set right
		want  error
	}{{"late", -24 * time.Hour, signed.ErrStale}, {"ahead", 24 * time.Hour, signed.ErrFuture}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var ahead atomic.Int64
				ahead.Store(int64(c.ahead))
				now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
				x := newSite(t, everything)
				storage := memory.New()
				p := signed.Wrap(storage, signed.Config{Identity: x.as("cn:p").store, Access: x, KeepOpen: true, Now: now})
				defer func() { must(t, p.Close()) }()
				l := watch(t, x.wrap(storage, x.as("cn:reader").store))
				r := announce(t, p, "a", 1)
				if e := l.want("problem a"); !errors.Is(e[0].Err, c.want) {
					t.Errorf("got %v, want %v", e[0].Err, c.want)
				}
				ahead.Store(0)
				time.Sleep(5 * time.Minute)
				l.want("appeared a")
				must(t, r.Update(directorytest.Entry("a", 2)))
				l.want("changed a")
			})
		})
	}
}

// TestDirectory_aProofIsAsOldAsTheWallClockSays: monotonic readings know neither of a clock that is set
// right nor of a suspended host.
func TestDirectory_aProofIsAsOldAsTheWallClockSays(t *testing.T) {
	x := newSite(t, everything)
	p := x.wrap(memory.New(), x.as("cn:p").store)
	if !strings.Contains(time.Now().String(), " m=") {
		t.Fatal("time.Now has no monotonic reading, of which this test is")
	}
	r := announce(t, p, "a", 1)
	if made := signed.Made(r); made.IsZero() || strings.Contains(made.String(), " m=") {
		t.Errorf("got a proof of %v, want a time without a monotonic reading", made)
	}
}
