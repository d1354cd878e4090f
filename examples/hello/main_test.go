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
	if got, want := out.String(), "Hello, NetIO!\n"; got != want {
		t.Errorf("output: got %q, want %q", got, want)
	}
}
