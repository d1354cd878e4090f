// SPDX-License-Identifier: Apache-2.0

package in_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bridge/durable"
	"tagbus/bridge/in"
	"tagbus/bridge/internal/memlog"
)

// following begins a Run that follows a log, and returns what ends it and fails the test unless its error is as wanted.
func (s *site) following(log *memlog.Log, cfg in.Config) (end func(want error)) {
	ctx, cancel := context.WithCancel(s.t.Context())
	cfg.Query.Follow = true
	done := make(chan error, 1)
	go func() {
		_, err := in.Run(ctx, s, log, cfg)
		done <- err
	}()
	synctest.Wait()
	return func(want error) {
		s.t.Helper()
		cancel()
		if err := <-done; !errors.Is(err, want) {
			s.t.Errorf("got %v, want %v", err, want)
		}
		synctest.Wait()
	}
}

// TestRun_aLogThatIsAwayAtTheStart is waited for while it is followed, also when it goes between its opening and the first question.
func TestRun_aLogThatIsAwayAtTheStart(t *testing.T) {
	for name, back := range map[string]bool{"and comes back": true, "until the end": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, s := newFill(t), newSite(t)
				f.messages(1, 1, time.Now(), "a")
				f.log.SetAway(true)
				var problems []error
				cfg := config
				cfg.OnProblem = func(err error) { problems = append(problems, err) }
				end := s.following(f.log, cfg)
				time.Sleep(time.Minute)
				f.log.SetAway(!back)
				time.Sleep(time.Minute)
				end(nil)
				want := []string{"1:0:a"}
				if !back {
					want = nil
				}
				if !slices.Equal(s.got, want) {
					t.Errorf("got %q, want %q", s.got, want)
				}
				if len(problems) != 1 || !errors.Is(problems[0], memlog.ErrAway) {
					t.Errorf("got the problems %v, want one of the outage", problems)
				}
			})
		})
	}
}

// TestRun_aLogThatIsMadeAgain during an outage is refused, however little of the new one there is: its records have the numbers of those
// that were published.
func TestRun_aLogThatIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := newFill(t), newSite(t)
		for n := range uint64(5) {
			f.messages(1, n+1, time.Now(), "old")
		}
		log := f.log.Reopen(nil)
		cfg := config
		var problems []error
		cfg.OnProblem = func(err error) { problems = append(problems, err) }
		end := s.following(log, cfg)
		time.Sleep(time.Minute)
		log.SetAway(true)
		f.log.Remake()
		clear(f.last)
		f.messages(1, 6, time.Now(), "new")
		time.Sleep(time.Minute)
		log.SetAway(false)
		f.messages(1, 7, time.Now(), "new")
		time.Sleep(time.Minute)
		end(durable.ErrRefused)
		if len(s.ended) != 1 || s.ended[0] == nil || len(problems) != 1 {
			t.Errorf("got %q, the goodbyes %v and the problems %v, want one of a failure, and one", s.got, s.ended, problems)
		}
	})
}
