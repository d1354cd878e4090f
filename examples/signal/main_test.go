// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestOutput(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out); err != nil {
		t.Fatalf("run: %v", err)
	}
	if got, want := out.String(), "on_init()\non_signal()\nthe signal has been fired\n"; got != want {
		t.Errorf("output: got %q, want %q", got, want)
	}
}
