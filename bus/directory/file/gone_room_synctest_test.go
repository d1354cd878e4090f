// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory/file"
)

// However many files of the gone cannot be removed, a new publisher is found, and so is one
// of them that comes back. Those that are too many are not read in each look.
func TestDirectory_theGoneThatStayKeepNoneOut(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		for i := range 20 {
			name := fmt.Sprintf("left%02d", i)
			foreign(t, folder, name, time.Second, 1)
			written(t, folder, name+".jsonl", time.Now().Add(-4*time.Hour-time.Duration(i)*time.Second))
		}
		var reads atomic.Int64
		config := polled.WithFaults(func(step string) error {
			switch step {
			case "read":
				reads.Add(1)
			case "remove":
				return syscall.EPERM // a sticky folder
			}
			return nil
		})
		config.MaxFiles, config.CollectAfter = 3, time.Minute
		d := open(t, folder, config)
		log := watchTimes(t, d)
		time.Sleep(5 * time.Minute)
		log()
		for _, name := range []string{"new", "left19"} { // not the last one that was written
			foreign(t, folder, name, time.Second, 2)
			written(t, folder, name+".jsonl", time.Now())
			time.Sleep(time.Second)
			if got := strings.Join(log(), "\n"); !strings.Contains(got, "appeared "+name) {
				t.Errorf("got %q, want that %s appears", got, name)
			}
		}
		if _, err := d.List(); !errors.Is(err, file.ErrLeftBehind) || errors.Is(err, file.ErrTooManyFiles) {
			t.Errorf("got %v, want ErrLeftBehind alone", err)
		}
		time.Sleep(time.Minute)
		reads.Store(0)
		time.Sleep(time.Minute)
		if got := reads.Load(); got > 12*12 {
			t.Errorf("got %d reads in a minute of 120 looks, want one in 5 s of each of 12 files", got)
		}
	})
}
