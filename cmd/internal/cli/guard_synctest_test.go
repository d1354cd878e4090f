// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/cmd/internal/options"
	"tagbus/internal/stuck"
	"tagbus/internal/testkit"
)

// TestALookThatDoesNotReturnHoldsUpNoEnd: a SIGHUP while the file system of a policy did not
// answer kept the program from ending for ever.
func TestALookThatDoesNotReturnHoldsUpNoEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "acl.json")
	testkit.Must(t, os.WriteFile(path, []byte(`{"rules":[]}`), 0o600))
	hups := make(chan os.Signal, 1)
	signal.Notify(hups, syscall.SIGHUP) // the goroutine behind it must not belong to the bubble
	signal.Stop(hups)
	synctest.Test(t, func(t *testing.T) {
		g, err := (&Security{options.Security{ACL: path}}).Open(func(slog.Level, string) {})
		testkit.Must(t, err)
		answers := make(chan struct{})
		g.looks.Go(func() { <-answers })
		begun := time.Now()
		g.Close()
		if took := time.Since(begun); took != stuck.Patience {
			t.Errorf("Close took %v, want %v", took, stuck.Patience)
		}
		close(answers)
	})
}
