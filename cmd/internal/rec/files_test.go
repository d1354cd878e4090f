// SPDX-License-Identifier: Apache-2.0

package rec_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"tagbus/recording"
	"tagbus/tags"
)

// TestASignalEndsEachCommand: what was not done leaves no file.
func TestASignalEndsEachCommand(t *testing.T) {
	b := newBed(t)
	var many []recording.Record
	for n := range uint64(5000) {
		many = append(many, msg(int(n), alice, tags.Tag(1+n%3), 1+n/3))
	}
	b.record("a.tbr", header(1), many...)
	b.record("b.tbr", header(2), many...)
	b.record("killed.tbr", header(3), many...)
	b.cutOff("killed.tbr", 100)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	for _, line := range []string{
		"info --exact a.tbr", "cat a.tbr", "verify a.tbr", "cut a.tbr --from +1s --out x.tbr", "merge a.tbr b.tbr --out x.tbr",
		"merge a.tbr --out x.tbr", "index killed.tbr --out x.tbr",
	} {
		b.ctx = ctx
		b.says(line, 1, "interrupted")
		if _, err := os.Stat(b.path("x.tbr")); !os.IsNotExist(err) {
			t.Errorf("%s: got %v, want no file", line, err)
		}
		b.ctx = t.Context()
		b.says(line, 0)
		_ = os.Remove(b.path("x.tbr"))
	}
}
