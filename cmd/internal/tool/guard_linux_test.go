// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/options"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/testkit/away"
)

// TestAGuardComesInTime: certificates on a mount that hangs were waited for without an end.
func TestAGuardComesInTime(t *testing.T) {
	m := away.New(t)
	policy := filepath.Join(m.Path(), "acl.json")
	if err := os.WriteFile(policy, []byte(`{"rules":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	m.Goes()
	e := &tool.Env{Flags: &tool.Flags{Bus: "/bus", Timeout: 10 * time.Millisecond, Security: cli.Security{Security: options.Security{ACL: policy}}}}
	g, err := e.Guard()
	if silent := (*tool.FileSilentError)(nil); g != nil || !errors.Is(err, tool.ErrSilent) || !errors.As(err, &silent) || silent.Note.Path != policy {
		t.Errorf("got %v and %v, want a *FileSilentError about %s", g, err, policy)
	}
	if _, err := e.Directory(); !errors.Is(err, tool.ErrSilent) {
		t.Errorf("got %v of the directory, want ErrSilent", err)
	}
	m.Returns()
	if err := e.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}
