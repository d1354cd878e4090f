// SPDX-License-Identifier: Apache-2.0

package in_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
)

// TestRun_tellsItsPublisher, whose error ends it.
func TestRun_tellsItsPublisher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, s := newFill(t), newSite(t)
		f.messages(1, 1, time.Now(), "a")
		cfg := config
		var told *bus.Publisher
		cfg.OnPublisher = func(p *bus.Publisher) error { told = p; return nil }
		if _, err := s.run(f.log, cfg); err != nil || told == nil || told.Stats().Messages != 1 {
			t.Errorf("got %v and the publisher %v, want one with a message", err, told)
		}
		no := errors.New("no")
		cfg.OnPublisher = func(p *bus.Publisher) error { told = p; return no }
		if report, err := s.run(f.log, cfg); !errors.Is(err, no) || report.Messages != 0 {
			t.Errorf("got %+v and %v, want nothing published and the error", report, err)
		}
		if err := told.Publish(1, nil); !errors.Is(err, bus.ErrClosed) {
			t.Errorf("Publish behind it: got %v, want %v", err, bus.ErrClosed)
		}
	})
}
