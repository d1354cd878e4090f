// SPDX-License-Identifier: Apache-2.0

//go:build linux

package reactor_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tagbus/netio/reactor"
)

func TestConfig_Validate_namesWhatIsWrong(t *testing.T) {
	tests := []struct {
		name   string
		config reactor.Config
		want   []string // fields that are refused
	}{
		{"the zero value is good", reactor.Config{}, nil},
		{"everything set", reactor.Config{
			MaxEvents: 65536, Wait: reactor.WaitThread, BusyPoll: time.Millisecond, CPUs: []int{0, 1023}, StallLimit: time.Millisecond,
		}, nil},
		{"no watchdog", reactor.Config{StallLimit: -1}, nil},
		{"negative batch", reactor.Config{MaxEvents: -1}, []string{"MaxEvents"}},
		{"oversize batch", reactor.Config{MaxEvents: 65537}, []string{"MaxEvents"}},
		{"unknown way to wait", reactor.Config{Wait: 7}, []string{"Wait"}},
		{"negative spin", reactor.Config{BusyPoll: -1}, []string{"BusyPoll"}},
		{"pinning a goroutine", reactor.Config{CPUs: []int{0}}, []string{"CPUs"}},
		{"processors that cannot be", reactor.Config{Wait: reactor.WaitThread, CPUs: []int{-1, 1024}}, []string{"CPUs", "CPUs"}},
		{"a limit that is always exceeded", reactor.Config{StallLimit: time.Microsecond}, []string{"StallLimit"}},
		{
			"everything wrong is told at once",
			reactor.Config{MaxEvents: -1, Wait: -1, BusyPoll: -1, CPUs: []int{-1}, StallLimit: 1},
			[]string{"MaxEvents", "Wait", "BusyPoll", "CPUs", "CPUs", "StallLimit"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := test.config.Validate()
			var lines []string
			if err != nil {
				lines = strings.Split(err.Error(), "\n")
			}
			if len(lines) != len(test.want) {
				t.Fatalf("Validate: got %v, want complaints about %v", err, test.want)
			}
			for i, field := range test.want {
				if !strings.HasPrefix(lines[i], "reactor: "+field+" is ") {
					t.Errorf("complaint %d: got %q, want one about %s", i, lines[i], field)
				}
			}
			loop, newErr := reactor.New(test.config)
			if (newErr == nil) != (err == nil) {
				t.Errorf("New: got %v, want the same as Validate: %v", newErr, err)
			}
			if newErr == nil {
				if err := loop.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
				return
			}
			var refused *reactor.ConfigError
			if !errors.As(newErr, &refused) {
				t.Errorf("New: got %T, want a *ConfigError", newErr)
			}
		})
	}
}
