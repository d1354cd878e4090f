// SPDX-License-Identifier: Apache-2.0

package rec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"tagbus/cmd/internal/rec/rectest"
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

// TestASignalEndsEachCommand_atAnyTime, also where nothing of what is read is selected: blocks that the
// signal keeps from being read are no damage, and what was begun is removed.
func TestASignalEndsEachCommand_atAnyTime(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), simple()...)
	b.record("b.tbr", header(2), simple()...)
	b.record("killed.tbr", header(3), simple()...)
	b.cutOff("killed.tbr", 600)
	killed, err := os.ReadFile(b.path("killed.tbr"))
	must(t, err)
	for _, line := range []string{
		"info a.tbr b.tbr", "info a.tbr --tags 9", "cat a.tbr b.tbr --publisher none", "cat killed.tbr --from +10h", "verify a.tbr", "verify killed.tbr --json",
		"cut a.tbr --publisher none --out x.tbr", "cut a.tbr --from +500ms --out x.tbr", "merge a.tbr b.tbr --out x.tbr", "merge killed.tbr --out x.tbr",
		"index killed.tbr", "index killed.tbr --out x.tbr",
	} {
		want := b.run(line)
		_ = os.Remove(b.path("x.tbr"))
		must(t, os.WriteFile(b.path("killed.tbr"), killed, 0o600))
		for n := int64(0); ; n++ {
			ctx, hasEnded := rectest.Ends(t.Context(), n)
			b.ctx = ctx
			got := b.run(line)
			_, missing := os.Stat(b.path("x.tbr"))
			_ = os.Remove(b.path("x.tbr"))
			now, err := os.ReadFile(b.path("killed.tbr"))
			must(t, err)
			must(t, os.WriteFile(b.path("killed.tbr"), killed, 0o600))
			if b.ctx = t.Context(); !hasEnded() {
				if n == 0 || got != want {
					t.Errorf("%s: got %+v when nothing ends it, want %+v", line, got, want)
				}
				break
			}
			if got.status != 1 || !strings.HasSuffix(got.err, "context canceled\n") || strings.Contains(got.err, "passed over") || missing == nil || !bytes.Equal(now, killed) {
				t.Fatalf("%s: got %+v and a new file: %v, when it is asked for the time %d, want that a signal has ended it", line, got, missing == nil, n)
			}
		}
	}
}

// TestPipesAreRefused: what to do is said, and not that the file ends early.
func TestPipesAreRefused(t *testing.T) {
	b := newBed(t)
	names := []string{os.DevNull}
	if runtime.GOOS == "linux" {
		out, in, err := os.Pipe()
		must(t, err)
		defer func() { must(t, errors.Join(out.Close(), in.Close())) }()
		names = append(names, fmt.Sprintf("/dev/fd/%d", out.Fd())) // as <(zcat x.tbr.gz) is
	}
	for _, name := range names {
		for _, line := range []string{"verify %s", "info %s", "cat %s", "index %s --out x.tbr", "merge %s --out x.tbr"} {
			got := b.says(fmt.Sprintf(line, name), 2, "recording: "+name+": it is a pipe or a device", "copy it to a file first")
			if strings.Contains(got.out+got.err, "remove it") {
				t.Errorf("got %s%s", got.out, got.err)
			}
		}
	}
}
