// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/directory/etcd"
	"tagbus/directory/etcd/internal/embedded"
)

// TestDirectory_Clients_many measures what clients cost a member of etcd, each with a lease of its own; the member is in
// this process. 100 connections carry them, as a connection in this process costs more than one of a
// process of its own.
//
//	TAGBUS_TESTS=all go -C directory/etcd test -v -run TestDirectory_Clients_many .
func TestDirectory_Clients_many(t *testing.T) {
	const clients, idle = 10_000, 20 * time.Second
	if os.Getenv("TAGBUS_TESTS") != "all" {
		t.Skip("it takes long: not run without TAGBUS_TESTS=all")
	}
	spent := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	s := embedded.Start(t)
	begun, before := time.Now(), spent()
	var starting sync.WaitGroup
	for i := range 100 {
		starting.Go(func() {
			d, err := etcd.Open(etcd.Config{Endpoints: []string{s.Endpoint()}, Prefix: "/tagbus/test/", RequestTimeout: time.Minute, AnnounceTimeout: time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = d.Close() })
			for j := range clients / 100 {
				c := d.NewClients()
				t.Cleanup(func() { _ = c.Close() })
				if _, err := c.Announce(directorytest.Client(fmt.Sprintf("client-%d-%d", i, j), 1)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	starting.Wait()
	t.Logf("start: %v of a processor, %v in all", spent()-before, time.Since(begun))
	before = spent()
	<-time.After(idle)
	t.Logf("idle: %.1f %% of a processor, both sides", 100*float64(spent()-before)/float64(idle))
	d, err := etcd.Open(etcd.Config{Endpoints: []string{s.Endpoint()}, Prefix: "/tagbus/test/"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	begun, before = time.Now(), spent()
	entries, err := directory.ClientsOf(d).List()
	t.Logf("one look at all: %v of a processor, %v in all", spent()-before, time.Since(begun))
	if len(entries) != clients || err != nil {
		t.Errorf("got %d clients, %v, want %d", len(entries), err, clients)
	}
	before = spent()
	if entries, err := d.List(); len(entries) != 0 || err != nil {
		t.Errorf("got %v, %v, want no publisher", entries, err)
	}
	t.Logf("one look at the publishers: %v of a processor", spent()-before)
}
