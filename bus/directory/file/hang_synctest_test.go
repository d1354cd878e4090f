// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
)

// TestDirectory_reportsAFileSystemThatHangs: one on a network does when its server is gone.
// No call into it returns then, so that none can fail.
func TestDirectory_reportsAFileSystemThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		answer := make(chan struct{})
		d := open(t, t.TempDir(), polled.WithFaults(func(step string) error {
			if step == "openbeat" && hangs.Load() {
				<-answer
			}
			return nil
		}))
		var mu sync.Mutex
		var told []error
		for _, instance := range []string{"a", "b"} {
			announce(t, d, entry(instance, 1)).(directory.Reporter).OnProblem(func(err error) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, err)
			})
		}
		reports := func() []error {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			return told
		}
		time.Sleep(10 * time.Second)
		if got := reports(); len(got) > 0 {
			t.Fatalf("got reports %v, want none", got)
		}
		hangs.Store(true)
		time.Sleep(4 * time.Second) // one until the beat, half of the expiry
		for _, err := range reports() {
			if !errors.Is(err, file.ErrHangs) || !strings.Contains(err.Error(), "2.5s") {
				t.Errorf("got report %v, want ErrHangs and how long", err)
			}
		}
		time.Sleep(time.Minute)
		if got := reports(); len(got) != 2 {
			t.Errorf("got reports %v, want one for each of two entries", got)
		}
		hangs.Store(false)
		close(answer)
		time.Sleep(2 * time.Second)
		if got := reports(); len(got) != 4 || got[2] != nil || got[3] != nil {
			t.Errorf("got reports %v, want that it is over for both", got)
		}
		if _, err := d.List(); err != nil {
			t.Errorf("got problem %v, want none", err)
		}
	})
}
