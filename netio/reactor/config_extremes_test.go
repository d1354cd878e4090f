// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"errors"
	"testing"
	"time"

	"tagbus/internal/testkit/extremes"
	"tagbus/netio/reactor"
)

// TestConfig_atTheEdgesOfItsTypes: a loop with a number or time near the largest or
// smallest of its type refuses it by name, or runs callbacks and timers, and ends.
func TestConfig_atTheEdgesOfItsTypes(t *testing.T) {
	extremes.Each(t, reactor.Config{}, func(t *testing.T, config any) error {
		loop, err := reactor.New(config.(reactor.Config))
		if err != nil {
			if refused := new(reactor.ConfigError); !errors.As(err, &refused) {
				t.Errorf("New: got error %v, want a *ConfigError", err)
			}
			return err
		}
		defer loop.Close()
		fired := false
		timer, err := loop.NewTimer(func() {
			fired = true
			loop.Stop()
		})
		if err != nil {
			t.Fatal(err)
		}
		loop.Post(func() {
			if err := timer.StartOnce(time.Microsecond); err != nil {
				t.Error(err)
				loop.Stop()
			}
		})
		if err := loop.Run(t.Context()); err != nil || !fired {
			t.Errorf("Run: got error %v, timer fired %v; want a timer that has fired", err, fired)
		}
		return nil
	})
}
