// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestOutput(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), &out, t.TempDir()); err != nil {
		t.Fatalf("run: %v", err)
	}
	const want = "first: 10 doubled is 20\nfirst: 11 doubled is 22\nfirst: 12 doubled is 24\n" +
		"second: 20 doubled is 40\nsecond: 21 doubled is 42\nsecond: 22 doubled is 44\n"
	if got := out.String(); got != want {
		t.Errorf("output: got %q, want %q", got, want)
	}
}
