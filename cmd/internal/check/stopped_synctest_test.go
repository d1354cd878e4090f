// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"tagbus/bus/directory"
	"tagbus/bus/observer"
	"tagbus/bus/state"
)

// stopping answers the first questions, and none of the others.
type stopping struct {
	*fakeAsker
	left atomic.Int64
	err  error
}

func (s *stopping) Ask(ctx context.Context, e directory.Entry, q state.Question) (state.State, error) {
	answer, err := s.fakeAsker.Ask(ctx, e, q)
	if s.left.Add(-1) < 0 {
		return state.State{}, s.err
	}
	return answer, err
}

// TestAProgramThatStopsMeanwhileIsNotWell: only from two answers is it known whether messages flow.
func TestAProgramThatStopsMeanwhileIsNotWell(t *testing.T) {
	for _, of := range []string{"here", "there"} {
		for _, why := range []error{observer.ErrTimeout, errors.New("connection refused")} {
			synctest.Test(t, func(t *testing.T) {
				l, f, survey := world(1)
				survey.Files[0].Entry.Host = of
				stops := &stopping{fakeAsker: f, err: why}
				stops.left.Store(1)
				l.asker = func() (asker, error) { return stops, nil }
				all := judge(l.look(t.Context()))
				if !slices.ContainsFunc(all, func(x Finding) bool { return x.Level == Warning && x.ID == "no-answer" && x.Instance == "I0000" }) {
					t.Errorf("%s, %v: got %v, want no-answer", of, why, all)
				}
				if slices.ContainsFunc(all, func(x Finding) bool { return x.Group == "flow" && x.Level == OK }) {
					t.Errorf("%s, %v: got %v, want not that all flows", of, why, all)
				}
			})
		}
	}
}
