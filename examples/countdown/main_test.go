// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"tagbus/netio/reactor"
)

func TestOutput(t *testing.T) {
	var out strings.Builder
	began := time.Now()
	if err := run(t.Context(), &out, 2*time.Millisecond); err != nil {
		t.Fatalf("run: %v", err)
	}
	if got, want := out.String(), "10\n9\n8\n7\n6\n5\n4\n3\n2\n1\n"; got != want {
		t.Errorf("output: got %q, want %q", got, want)
	}
	if took := time.Since(began); took < 20*time.Millisecond {
		t.Errorf("ten periods of 2ms took %v", took)
	}
}

func TestPeriodThatIsNotPositive(t *testing.T) {
	var out strings.Builder
	var refused *reactor.ConfigError
	if err := run(t.Context(), &out, 0); !errors.As(err, &refused) {
		t.Errorf("run: got %v, want a ConfigError", err)
	}
	if out.Len() > 0 {
		t.Errorf("output: got %q, want none", out.String())
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	var out strings.Builder
	if err := run(ctx, &out, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("run: got %v, want the deadline", err)
	}
}
