// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/tool"
)

// looks returns what is written by a command that looks until a time, and its error.
func looks(t *testing.T, asJSON bool, w tool.Watch, until time.Duration, fail int) (text string, err error) {
	t.Helper()
	var out bytes.Buffer
	e := &tool.Env{Flags: &tool.Flags{JSON: asJSON}, Streams: cli.Streams{Out: &out}}
	ctx, cancel := context.WithTimeout(t.Context(), until)
	defer cancel()
	n := 0
	err = e.Repeat(ctx, w, func(_ context.Context, out io.Writer) error {
		if n++; n == fail {
			return errFailed
		}
		fmt.Fprintf(out, "look %d\n", n)
		return nil
	})
	return out.String(), err
}

var errFailed = errors.New("failed")

func TestRepeat(t *testing.T) {
	const second = tool.Watch(time.Second)
	tests := []struct {
		name   string
		asJSON bool
		watch  tool.Watch
		fail   int
		want   string
		err    error
	}{
		{"once", false, 0, 0, "look 1\n", nil},
		{"a look each second", true, second, 0, "look 1\nlook 2\nlook 3\n", nil},
		{"the time above each", false, second, 0, "00:00:00\nlook 1\n00:00:01\nlook 2\n00:00:02\nlook 3\n", nil},
		{"a failure ends it", true, second, 2, "look 1\n", errFailed},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			got, err := looks(t, test.asJSON, test.watch, 2500*time.Millisecond, test.fail)
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("%s: got %q and %v, want %q and %v", test.name, got, err, test.want, test.err)
			}
		})
	}
}
