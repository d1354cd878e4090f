// SPDX-License-Identifier: Apache-2.0

package members_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"tagbus/directory/etcd/cmd/internal/members"
)

// untilSaid ends a context once a text is written.
type untilSaid struct {
	text string
	end  context.CancelFunc
}

// Write looks at a line.
func (u untilSaid) Write(line []byte) (int, error) {
	if strings.Contains(string(line), u.text) {
		u.end()
	}
	return len(line), nil
}

// A member that waits for others ends in order when it is told to.
func TestAMemberThatWaitsEnds(t *testing.T) {
	at, data := freeAddress(t), t.TempDir()
	first := runMember(t, "--data", t.TempDir(), "--listen", at, "--name", "first")
	second := runMember(t, "--data", data, "--listen", freeAddress(t), "--name", "second", "--join", at)
	if code := first.stop(); code != 0 {
		t.Errorf("first: got exit code %d, want 0", code)
	}
	if code := second.stop(); code != 0 {
		t.Errorf("second: got exit code %d, want 0", code)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	streams := members.Streams{Out: io.Discard, Err: untilSaid{"member second has started", cancel}}
	if code := members.RunUntil(ctx, []string{"--data", data}, streams); code != 0 {
		t.Errorf("got exit code %d of a member that waits, want 0", code)
	}
}
