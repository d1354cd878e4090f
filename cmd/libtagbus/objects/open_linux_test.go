// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tagbus/cmd/internal/options"
	"tagbus/internal/stuck"
	"tagbus/internal/testkit"
	"tagbus/internal/testkit/away"
)

// TestOpenOnAMountThatHangs: a program in C cannot end its call of tagbus_open, which waited for its
// certificates without an end.
func TestOpenOnAMountThatHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it waits for some seconds")
	}
	m := away.New(t)
	policy := filepath.Join(m.Path(), "acl.json")
	testkit.Must(t, os.WriteFile(policy, []byte(`{"rules":[]}`), 0o600))
	m.Goes()
	var o busOptions
	testkit.Must(t, options.Read(&o, []string{"--acl", policy}))
	a, err := o.open(slog.New(slog.DiscardHandler))
	if late := (*stuck.LateError)(nil); a != nil || !errors.As(err, &late) || late.Note.Path != policy {
		t.Errorf("got %v and %v, want a *LateError about %s", a, err, policy)
	}
	if err != nil && !strings.Contains(err.Error(), policy) {
		t.Errorf("got %q, want the file in it", err)
	}
	m.Returns()
}
