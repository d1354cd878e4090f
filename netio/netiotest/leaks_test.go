// SPDX-License-Identifier: Apache-2.0

package netiotest_test

import (
	"os"
	"strings"
	"testing"

	"tagbus/netio/netiotest"
)

func TestCheckLeaksNamesWhatIsLeft(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	var left *os.File
	tests := []struct {
		name string
		leak func(t *testing.T)
		want string // in the failure; "" for none
	}{
		{"nothing is left", func(*testing.T) {}, ""},
		{"what is closed is not left", func(t *testing.T) {
			done := make(chan struct{})
			go close(done)
			<-done
			f := openNull(t)
			if err := f.Close(); err != nil {
				t.Fatalf("close: got error %v, want none", err)
			}
		}, ""},
		{"a goroutine is left", func(*testing.T) { go func() { <-stop }() }, "goroutines left over"},
		{"a file descriptor is left", func(t *testing.T) { left = openNull(t) }, os.DevNull},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fake := runFake(func(fake *fakeTB) {
				netiotest.CheckLeaks(fake)
				tt.leak(t)
			})
			switch {
			case tt.want == "" && fake.Failed():
				t.Errorf("got failures %q, want none", fake.failures)
			case tt.want != "" && (len(fake.failures) != 1 || !strings.Contains(fake.failures[0], tt.want)):
				t.Errorf("got failures %q, want one with %q", fake.failures, tt.want)
			}
		})
	}
	if err := left.Close(); err != nil {
		t.Errorf("close what was left: got error %v, want none", err)
	}
}

func openNull(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatalf("open: got error %v, want none", err)
	}
	return f
}
