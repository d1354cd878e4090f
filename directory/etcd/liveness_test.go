// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/directory/etcd"
	"tagbus/directory/etcd/internal/embedded"
)

// graceOfExpired is how long watchers wait for an expired entry to come back.
const graceOfExpired = min(time.Second, expiry)

func TestDirectory_aKilledPublisherExpires(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	d := open(t, server)
	r, stop := directorytest.Watch(t, d)
	defer stop()
	announceAsOther(t, server, "a")
	r.Want(directory.Appeared, "a")
	appeared := time.Now()
	e := r.Want(directory.Gone, "a")
	if !errors.Is(e.Err, directory.ErrExpired) || !e.Entry.Equal(directorytest.Entry("a", 1)) {
		t.Errorf("got %+v, want ErrExpired and the last entry", e)
	}
	if took := time.Since(appeared); took < graceOfExpired || took > expiry+5*time.Second {
		t.Errorf("got Gone after %v, want it after %v to %v", took, graceOfExpired, expiry+5*time.Second)
	}
}

// TestDirectory_aPublisherThatCannotReachTheServers expires as a killed one does, and appears again.
func TestDirectory_aPublisherThatCannotReachTheServers(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	proxy := newProxy(t, server)
	publisher, d := open(t, server, proxy.endpoint), open(t, server)
	told := reportsOf(t, directorytest.Announce(t, publisher, directorytest.Entry("a", 1)))
	r, stop := directorytest.Watch(t, d)
	defer stop()
	r.Want(directory.Appeared, "a")
	proxy.cut()
	if e := r.Want(directory.Gone, "a"); !errors.Is(e.Err, directory.ErrExpired) {
		t.Errorf("got %v, want ErrExpired", e.Err)
	}
	if err := told.next(t); !errors.Is(err, etcd.ErrAway) {
		t.Errorf("got report %v, want ErrAway", err)
	}
	proxy.mend()
	r.Want(directory.Appeared, "a")
	if err := told.next(t); err != nil {
		t.Errorf("got report %v, want nil", err)
	}
}

func TestDirectory_tellsWithdrawnApartFromExpired(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	d := open(t, server, patient)
	r, stop := directorytest.Watch(t, d)
	defer stop()
	publisher, err := etcd.Open(etcd.Config{Endpoints: []string{server.Endpoint()}, Prefix: "/tagbus/test/"})
	if err != nil {
		t.Fatal(err)
	}
	defer publisher.Close()
	a := directorytest.Announce(t, publisher, directorytest.Entry("a", 1))
	r.Want(directory.Appeared, "a")
	if err := a.Withdraw(); err != nil {
		t.Fatal(err)
	}
	if e := r.Want(directory.Gone, "a"); e.Err != nil {
		t.Errorf("got %v after Withdraw, want nil", e.Err)
	}
	const many = 130 // more than one transaction takes
	for i := range many {
		directorytest.Announce(t, publisher, directorytest.Entry(fmt.Sprintf("b%03d", i), 1))
		r.Want(directory.Appeared, fmt.Sprintf("b%03d", i))
	}
	if err := publisher.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range many {
		if e := r.Want(directory.Gone, fmt.Sprintf("b%03d", i)); e.Err != nil {
			t.Errorf("got %v after Close, want nil", e.Err)
		}
	}
	response, err := server.Client().Leases(context.Background())
	if err != nil || len(response.Leases) != 0 {
		t.Errorf("got leases %v, %v, want none: Close ends its own", response.Leases, err)
	}
}

// TestDirectory_aLeaseThatIsRevoked is got again: by a process that watches before anything is Gone,
// and by another one when it renews the lease.
func TestDirectory_aLeaseThatIsRevoked(t *testing.T) {
	t.Parallel()
	for _, watching := range []bool{true, false} {
		server := embedded.Start(t)
		publisher, d := open(t, server), open(t, server, patient)
		directorytest.Announce(t, publisher, directorytest.Entry("a", 1))
		if watching {
			_, stop := directorytest.Watch(t, publisher)
			defer stop()
		}
		r, stop := directorytest.Watch(t, d)
		defer stop()
		r.Want(directory.Appeared, "a")
		ctx := context.Background()
		client := server.Client()
		leases, err := client.Leases(ctx)
		if err != nil || len(leases.Leases) != 1 {
			t.Fatalf("got leases %v, %v, want one", leases, err)
		}
		revoked := time.Now()
		if _, err := client.Revoke(ctx, leases.Leases[0].ID); err != nil {
			t.Fatal(err)
		}
		until(t, "new lease", func() bool { return publisher.Stats().Leases == 2 })
		slow := time.Since(revoked) > graceOfExpired/2 // a machine that does much else
		directorytest.Announce(t, publisher, directorytest.Entry("b", 1))
		e := r.Next()
		if (slow || !watching) && e.Kind == directory.Gone {
			r.Want(directory.Appeared, "a")
			e = r.Next()
		}
		if e.Kind != directory.Appeared || e.Entry.Instance != "b" {
			t.Errorf("got %v, want b to appear, and a never gone", e)
		}
		wantEntries(t, d, "a", "b")
	}
}

// TestDirectory_anEntryThatOthersDelete is there again: at once if its process watches, and otherwise
// within Expiry, when it may have been Gone meanwhile.
func TestDirectory_anEntryThatOthersDelete(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	d := open(t, server, patient)
	r, stop := directorytest.Watch(t, d)
	defer stop()
	for _, watching := range []bool{true, false} {
		publisher := open(t, server)
		instance := fmt.Sprintf("watching-%v", watching)
		directorytest.Announce(t, publisher, directorytest.Entry(instance, 1))
		if watching {
			_, stop := directorytest.Watch(t, publisher)
			defer stop()
		}
		r.Want(directory.Appeared, instance)
		key := "/tagbus/test/e/" + instance
		client := server.Client()
		if _, err := client.Delete(context.Background(), key); err != nil {
			t.Fatal(err)
		}
		until(t, "entry that is there again", func() bool {
			response, err := client.Get(context.Background(), key)
			return err == nil && len(response.Kvs) == 1 && response.Kvs[0].Lease != 0
		})
		if _, err := client.Put(context.Background(), key, "nonsense"); err != nil {
			t.Fatal(err)
		}
		e := r.Next()
		if !watching && e.Kind == directory.Gone {
			r.Want(directory.Appeared, instance)
			e = r.Next()
		}
		if e.Kind != directory.Problem || e.Entry.Instance != instance || !errors.Is(e.Err, etcd.ErrDamaged) {
			t.Errorf("got %v, want a problem with ErrDamaged", e)
		}
		until(t, "entry that is mended", func() bool { return d.Stats().Problems == 0 })
	}
	wantEntries(t, d, "watching-false", "watching-true")
	r.WantNone()
}

func TestDirectory_announcedByAnotherProcess(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	first, second := open(t, server), open(t, server)
	a := directorytest.Announce(t, first, directorytest.Entry("a", 1))
	if _, err := second.Announce(directorytest.Entry("a", 2)); !errors.Is(err, directory.ErrAnnounced) {
		t.Fatalf("got %v, want ErrAnnounced", err)
	}
	if n := second.Stats().Registrations; n != 0 {
		t.Errorf("got %d registrations, want none", n)
	}
	entries, err := second.List()
	if err != nil || len(entries) != 1 || !entries[0].Equal(directorytest.Entry("a", 1)) {
		t.Errorf("got %v, %v, want the first entry", entries, err)
	}
	if err := a.Withdraw(); err != nil {
		t.Fatal(err)
	}
	directorytest.Announce(t, second, directorytest.Entry("a", 2))
}

// TestDirectory_anInstanceThatAnotherProcessTakes while this one cannot reach the servers is
// reported, and left to the other; when that has gone, it is announced again.
func TestDirectory_anInstanceThatAnotherProcessTakes(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	proxy := newProxy(t, server)
	proxy.cut()
	d, other := open(t, server, quick, proxy.endpoint), open(t, server)
	told := reportsOf(t, directorytest.Announce(t, d, directorytest.Entry("a", 1)))
	if err := told.next(t); !errors.Is(err, etcd.ErrAway) {
		t.Errorf("got report %v, want ErrAway", err)
	}
	taken := directorytest.Announce(t, other, directorytest.Entry("a", 2))
	proxy.mend()
	until(t, "refusal", func() bool { return d.Stats().Leases == 1 })
	entries, err := other.List()
	if err != nil || len(entries) != 1 || !entries[0].Equal(directorytest.Entry("a", 2)) {
		t.Errorf("got %v, %v, want the entry of the other", entries, err)
	}
	if err := taken.Withdraw(); err != nil {
		t.Fatal(err)
	}
	if err := told.next(t); err != nil {
		t.Errorf("got report %v, want nil: it is announced", err)
	}
}
