// SPDX-License-Identifier: Apache-2.0

//go:build linux

package tool

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
)

// renewed is an entry of a folder whose file system has another clock.
type renewed struct {
	instance string
	beat     time.Duration
	died     time.Duration // before the first look; 0: it lives
}

// survey looks at entries.
//
//   - ahead: the clock of the file system is.
func survey(began time.Time, ahead time.Duration, all []renewed) (s file.Survey) {
	for _, r := range all {
		last := time.Now()
		if r.died > 0 {
			last = began.Add(-r.died)
		}
		beats := last.Add(time.Hour).Sub(began) / r.beat
		written := began.Add(-time.Hour + beats*r.beat + ahead)
		s.Files = append(s.Files, file.Found{Entry: directory.Entry{Instance: r.instance}, Beats: uint64(beats), Beat: r.beat, Written: written})
	}
	return s
}

// A program that lives was said to have gone if the clock of its file server was some seconds late, and one that has
// gone was not seen if it was ahead.
func TestWhatIsNotRenewedIsFoundWhateverTheClockOfTheFolder(t *testing.T) {
	all := []renewed{{"lives", time.Second, 0}, {"dead", time.Second, time.Minute}, {"slow", 20 * time.Second, 0}, {"passed", time.Second, time.Minute}}
	listed := []directory.Entry{{Instance: "lives"}, {Instance: "dead"}, {Instance: "slow"}}
	for _, ahead := range []time.Duration{0, -time.Hour, -8 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			look := func() (file.Survey, error) { return survey(began, ahead, all), nil }
			got := unrenewed(t.Context(), look, listed)
			if len(got) != 1 || got[0].Entry.Instance != "dead" {
				t.Errorf("the clock of the folder is ahead by %v: got %+v, want the dead one", ahead, got)
			}
			if took := time.Since(began); took != 1500*time.Millisecond {
				t.Errorf("the clock of the folder is ahead by %v: took %v, want 1.5s", ahead, took)
			}
			if got := unrenewed(t.Context(), look, listed[:1]); ahead == 0 && (got != nil || time.Since(began) != 1500*time.Millisecond) {
				t.Errorf("nothing seems to be old: got %v after %v more, want none at once", got, time.Since(began)-1500*time.Millisecond)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if got := unrenewed(ctx, look, listed); got != nil {
				t.Errorf("of a look that was ended: got %v, want none", got)
			}
		})
	}
}
