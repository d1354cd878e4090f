// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/file"
	"tagbus/internal/testkit"
)

// spent returns the processor time of this process so far.
func spent(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestDirectory_Clients_tenThousand measures what 10,000 clients cost, each with a directory of its own as if it were a
// process: the figures of docs/scaling.md.
//
//	TAGBUS_TESTS=all go test -v -run TestDirectory_Clients_tenThousand ./bus/directory/file
func TestDirectory_Clients_tenThousand(t *testing.T) {
	const clients, idle = 10_000, 20 * time.Second
	if !testkit.All() || testkit.Race {
		t.Skip("it takes long: not run without TAGBUS_TESTS=all")
	}
	folder := t.TempDir()
	begun, before := time.Now(), spent(t)
	for i := range clients {
		d := open(t, folder, file.Config{})
		if _, err := d.Clients().Announce(directorytest.Client(fmt.Sprint("client-", i), 1)); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("start: %v of a processor, %v in all", spent(t)-before, time.Since(begun))
	before = spent(t)
	<-time.After(idle)
	t.Logf("idle: %.2f %% of a processor", 100*float64(spent(t)-before)/float64(idle))
	begun, before = time.Now(), spent(t)
	entries := listClients(t, open(t, folder, file.Config{}))
	t.Logf("one look at all: %v of a processor, %v in all", spent(t)-before, time.Since(begun))
	if len(entries) != clients {
		t.Errorf("got %d clients, want %d", len(entries), clients)
	}
	before = spent(t)
	if _, err := open(t, folder, file.Config{}).List(); err != nil {
		t.Fatal(err)
	}
	t.Logf("one look at the publishers: %v of a processor", spent(t)-before)
}
