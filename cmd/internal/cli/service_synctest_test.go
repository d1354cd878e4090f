// SPDX-License-Identifier: Apache-2.0

package cli_test

import (
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/cmd/internal/cli"
)

// TestALoopThatHangsGivesNoSignOfLife although the goroutine that sends it runs.
func TestALoopThatHangsGivesNoSignOfLife(t *testing.T) {
	name := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	t.Setenv("NOTIFY_SOCKET", name)
	t.Setenv("WATCHDOG_USEC", "60000000") // a minute
	t.Setenv("WATCHDOG_PID", "")
	synctest.Test(t, func(t *testing.T) {
		c := cli.NewConsole("tool", &slowWriter{}, cli.Log{})
		defer c.Close()
		var hangs atomic.Bool
		var waiting atomic.Int64 // functions that a loop which hangs has not run
		stopping := cli.Ready(c, func(f func()) bool {
			if hangs.Load() {
				waiting.Add(1)
			} else {
				f()
			}
			return true
		})
		time.Sleep(61 * time.Second)
		hangs.Store(true)
		time.Sleep(time.Hour)
		if n := waiting.Load(); n != 1 {
			t.Errorf("got %d functions posted to a loop that hangs, want 1", n)
		}
		stopping()
		synctest.Wait()
	})
	b := make([]byte, 100)
	for _, want := range []string{"READY=1", "WATCHDOG=1", "WATCHDOG=1", "WATCHDOG=1", "STOPPING=1"} { // at 0, 30 and 60 s
		n, err := conn.Read(b)
		if got := string(b[:n]); err != nil || got != want {
			t.Fatalf("got %q and error %v, want %q", got, err, want)
		}
	}
}
