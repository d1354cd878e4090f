// SPDX-License-Identifier: Apache-2.0

package heartbeat_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"tagbus/bus/internal/heartbeat"
	"tagbus/internal/validate"
)

func TestConfig(t *testing.T) {
	const off = -1
	for _, x := range []struct {
		name              string
		interval, timeout time.Duration
		every, most       time.Duration // with defaults
		err               string
	}{
		{"defaults", 0, 0, 2 * time.Second, 6 * time.Second, ""},
		{"an interval", 4 * time.Second, 0, 4 * time.Second, 12 * time.Second, ""},
		{"a short interval", time.Second, 0, time.Second, 6 * time.Second, ""},
		{"a timeout", 0, 3 * time.Second, time.Second, 3 * time.Second, ""},
		{"a long timeout", 0, time.Hour, 2 * time.Second, time.Hour, ""},
		{"a very short timeout", 0, 2 * time.Millisecond, time.Millisecond, 2 * time.Millisecond, ""},
		{"off", off, 0, off, 6 * time.Second, ""},
		{"no timeout", 0, off, 2 * time.Second, off, ""},
		{"an interval that is too short", time.Microsecond, 0, time.Microsecond, 6 * time.Second, "HeartbeatInterval is 1µs"},
		{"an interval that is too long", 2 * time.Hour, 0, 2 * time.Hour, 3 * time.Hour, "HeartbeatInterval is 2h0m0s"},
		{"a timeout that is too long", 0, validate.MaxDuration + 1, 2 * time.Second, validate.MaxDuration + 1, "HeartbeatTimeout is "},
		{"a timeout that is too short", 2 * time.Second, 3 * time.Second, 2 * time.Second, 3 * time.Second, "want at least twice HeartbeatInterval, 4s"},
	} {
		every, most := x.interval, x.timeout
		if heartbeat.SetDefaults(&every, &most); every != x.every || most != x.most {
			t.Errorf("%s: got %v and %v, want %v and %v", x.name, every, most, x.every, x.most)
		}
		kind := errors.New("wrong")
		v := validate.Violations{Kind: kind}
		heartbeat.Check(&v, every, most)
		if err := v.Err(); x.err == "" && err != nil || x.err != "" && (!errors.Is(err, kind) || !strings.Contains(err.Error(), x.err)) {
			t.Errorf("%s: got %v, want an error with %q", x.name, err, x.err)
		}
	}
}
