// SPDX-License-Identifier: Apache-2.0

package writer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bridge/internal/memlog"
	"tagbus/bridge/internal/writer"
)

// TestNew_waitsForALogThatIsAway, also when it goes between its opening and the first question.
func TestNew_waitsForALogThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(limit, nil)
		first, _ := open(t, log)
		first.Page(time.Now(), page(alice, 1, upTo(1, 5)...))
		settle(first, alice, 1, 0, 5)
		closeWriter(t, first)
		log.SetAway(true)
		time.AfterFunc(time.Minute, func() { log.SetAway(false) })
		second, calls := open(t, log)
		if said := calls.said().reports; len(said) != 1 || !errors.Is(said[0], memlog.ErrAway) {
			t.Errorf("got the problems %v, want one of the outage", said)
		}
		second.Page(time.Now(), page(alice, 1, 6))
		settle(second, alice, 1, 5, 6)
		closeWriter(t, second)
		if c := only(t, log); c.kinds != "bmeme" || c.next != 7 || second.Stats().Away {
			t.Errorf("got %+v, and that the log is away: %t, want the messages 1 to 6, and not", c, second.Stats().Away)
		}
	})
}

// TestNew_endsWithItsContext while the log is away.
func TestNew_endsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(limit, nil)
		log.SetAway(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cfg := writer.Config{Log: log, MaxBytes: 1 << 20, MaxChains: 1, RetryMin: time.Second, RetryMax: time.Second, Report: func(error) {}}
		began := time.Now()
		_, err := writer.New(ctx, cfg, every)
		if took := time.Since(began); took != time.Minute || !errors.Is(err, memlog.ErrAway) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v after %v, want ErrAway and the end of the context after a minute", err, took)
		}
	})
}
