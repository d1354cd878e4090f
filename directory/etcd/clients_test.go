// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/directory/etcd/internal/embedded"
)

// TestDirectory_Clients_costWatchersNothing: their keys are behind what watchers read, and their lease is renewed
// a tenth as often.
func TestDirectory_Clients_costWatchersNothing(t *testing.T) {
	t.Parallel()
	s := embedded.Start(t)
	d := open(t, s, patient)
	r, stop := directorytest.Watch(t, d)
	defer stop()
	directorytest.Announce(t, directory.ClientsOf(d), directorytest.Client("c", 1))
	directorytest.Announce(t, d, directorytest.Entry("p", 1))
	r.Want(directory.Appeared, "p")
	ctx := context.Background()
	all, err := s.Client().Get(ctx, "/tagbus/test/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	var client, publisher int64
	for _, kv := range all.Kvs {
		switch key := string(kv.Key); {
		case key == "/tagbus/test/x/e/c":
			client = kv.Lease
		case key == "/tagbus/test/e/p":
			publisher = kv.Lease
		case key >= "/tagbus/test/x/" && key != "/tagbus/test/x/begun":
			t.Errorf("got the key %s", key)
		}
	}
	if client == 0 || publisher == 0 || client == publisher {
		t.Fatalf("got %v, want a client and a publisher with a lease each", all.Kvs)
	}
	ttl := func(lease int64) int64 {
		response, err := s.Client().TimeToLive(ctx, clientv3.LeaseID(lease))
		if err != nil {
			t.Fatal(err)
		}
		return response.GrantedTTL
	}
	if ttl(client) != 10*ttl(publisher) {
		t.Errorf("got leases of %d s and %d s, want ten times as much for a client", ttl(client), ttl(publisher))
	}
	if s := d.Stats(); s.Entries != 1 {
		t.Errorf("got %d entries, want that of the publisher", s.Entries)
	}
}
