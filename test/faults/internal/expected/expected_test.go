// SPDX-License-Identifier: Apache-2.0

package expected_test

import (
	"testing"

	"tagbus/test/faults/internal/expected"
)

func TestLine(t *testing.T) {
	tests := []struct {
		program, line string
		lately        expected.Fault
		want          bool
	}{
		{"publisher", "ready", expected.Nothing, true},
		{"subscriber", "lost: connection reset by peer", expected.Nothing, false},
		{"subscriber", "lost: connection reset by peer", expected.ConnectionsReset, true},
		{"subscriber", "lost: connection reset by peer", expected.DiskFull, false},
		{"publisher", "failed: no space left on device", expected.DiskFull, false},
		{"publisher", "panic: runtime error", expected.PublisherKilled, false},
		{"subscriber", "goroutine 1 [running]:", expected.SubscriberStops, false},
		{"directory", `warn: etcd: failed to apply request error="lease not found" request="header"`, expected.PublisherStops, true},
		{"directory", "warn: etcd: failed to send lease keepalive response to gRPC stream error", expected.ConnectionsReset, true},
		{"directory", "warn: etcd: failed to apply request error=something", expected.PublisherStops, false},
		{"another", "ready", expected.Nothing, false},
	}
	for _, test := range tests {
		if got := expected.Line(test.program, test.line, func(f expected.Fault) bool { return f == test.lately }); got != test.want {
			t.Errorf("%s: %q with %q: got %v, want %v", test.program, test.line, test.lately, got, test.want)
		}
	}
}
