// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/directory/etcd"
	"tagbus/directory/etcd/internal/embedded"
)

// quick lets Announce give up soon.
func quick(c *etcd.Config) { c.AnnounceTimeout = 100 * time.Millisecond }

// usual has Withdraw give up when it does by default.
func usual(c *etcd.Config) { c.RequestTimeout = 0 }

// patient outlives an election and what a loaded machine adds.
func patient(c *etcd.Config) { c.Expiry = 20 * time.Second }

// reports records what a Reporter tells.
type reports chan error

func reportsOf(t *testing.T, r directory.Registration) reports {
	t.Helper()
	told := make(reports, 100)
	r.(directory.Reporter).OnProblem(func(err error) { told <- err })
	return told
}

func (r reports) next(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r:
		return err
	case <-time.After(directorytest.Patience):
		t.Fatal("got no report, want one")
		return nil
	}
}

// wantAfter is Want after an outage, which may have lasted so long that it was told.
func wantAfter(t *testing.T, r *directorytest.Recorder, kind directory.EventKind, instance string) directory.Event {
	t.Helper()
	e := r.Next()
	for e.Kind == directory.Problem && errors.Is(e.Err, etcd.ErrAway) {
		e = r.Next()
	}
	if e.Kind != kind || e.Entry.Instance != instance {
		t.Fatalf("got event %v, want %v %s", e, kind, instance)
	}
	return e
}

// until waits for a condition.
func until(t *testing.T, what string, reached func() bool) {
	t.Helper()
	deadline := time.After(directorytest.Patience)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for !reached() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("got no %s, want it", what)
		}
	}
}

// wantEntries fails the test unless the directory has exactly these, and no problem.
func wantEntries(t *testing.T, d directory.Directory, instances ...string) {
	t.Helper()
	entries, err := d.List()
	// On a busy host the first connection may take longer than a request, and the lease of an entry end and be made again.
	for begun := time.Now(); (errors.Is(err, etcd.ErrAway) || len(entries) < len(instances)) && time.Since(begun) < time.Minute; {
		entries, err = d.List()
	}
	if err != nil {
		t.Errorf("got %v from List, want nil", err)
	}
	if len(entries) != len(instances) {
		t.Fatalf("got entries %v, want %v", entries, instances)
	}
	for i, e := range entries {
		if e.Instance != instances[i] {
			t.Errorf("got entry %s, want %s", e.Instance, instances[i])
		}
	}
}

func TestDirectory_serversThatAreAwayAtTheStart(t *testing.T) {
	t.Parallel()
	server := embedded.New(t)
	d := open(t, server, quick, patient)
	r, stop := directorytest.Watch(t, d)
	defer stop()
	problem := r.Want(directory.Problem, "")
	var failure *etcd.ServerError
	if !errors.Is(problem.Err, etcd.ErrAway) || !errors.As(problem.Err, &failure) || failure.Endpoints[0] != server.Endpoint() || failure.Hint == "" {
		t.Errorf("got problem %v, want ErrAway with the endpoint and a hint", problem.Err)
	}
	told := reportsOf(t, directorytest.Announce(t, d, directorytest.Entry("a", 1)))
	if err := told.next(t); !errors.Is(err, etcd.ErrAway) {
		t.Errorf("got report %v, want ErrAway", err)
	}
	if entries, err := d.List(); !errors.Is(err, etcd.ErrAway) || len(entries) != 0 {
		t.Errorf("got list %v, %v, want none and ErrAway", entries, err)
	}
	if s := d.Stats(); s.Up || s.Registrations != 1 || s.Problems != 1 || !s.LastContact.IsZero() {
		t.Errorf("got stats %+v, want no contact, 1 registration and 1 problem", s)
	}
	server.Start()
	r.Want(directory.Appeared, "a")
	if err := told.next(t); err != nil {
		t.Errorf("got report %v, want nil: it is announced", err)
	}
	wantEntries(t, d, "a")
	if s := d.Stats(); !s.Up || s.Entries != 1 || s.Problems != 0 || s.Leases != 1 || s.LastContact.IsZero() {
		t.Errorf("got stats %+v, want contact, 1 entry, 1 lease and no problem", s)
	}
}

// TestDirectory_List_withoutServersHasAProblem: it is never an empty list without one, not even at the
// instant at which the directory finds out.
func TestDirectory_List_withoutServersHasAProblem(t *testing.T) {
	t.Parallel()
	server := embedded.New(t)
	for range 100 {
		d := open(t, server, quick)
		if entries, err := d.List(); !errors.Is(err, etcd.ErrAway) || len(entries) != 0 {
			t.Fatalf("got list %v, %v, want none and ErrAway", entries, err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDirectory_anOutageLongerThanExpiry is told as a problem, and nothing is gone then or after it.
func TestDirectory_anOutageLongerThanExpiry(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	publisher := open(t, server)
	told := reportsOf(t, directorytest.Announce(t, publisher, directorytest.Entry("a", 1)))
	d := open(t, server)
	r, stop := directorytest.Watch(t, d)
	defer stop()
	r.Want(directory.Appeared, "a")
	server.Stop()
	began := time.Now()
	r.Want(directory.Problem, "")
	if err := told.next(t); !errors.Is(err, etcd.ErrAway) {
		t.Errorf("got report %v, want ErrAway", err)
	}
	until(t, "end of the outage", func() bool { return time.Since(began) > 2*expiry })
	if entries, err := d.List(); !errors.Is(err, etcd.ErrAway) || len(entries) != 1 {
		t.Errorf("got list %v, %v, want the entry and ErrAway", entries, err)
	}
	server.Start()
	if err := told.next(t); err != nil {
		t.Errorf("got report %v, want nil: it is over", err)
	}
	until(t, "end of the problem", func() bool { return d.Stats().Problems == 0 })
	wantEntries(t, d, "a")
	directorytest.Announce(t, publisher, directorytest.Entry("b", 1))
	r.Want(directory.Appeared, "b") // and nothing was told before it
}

func TestDirectory_serversThatComeBackEmpty(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	publisher, d := open(t, server), open(t, server, patient)
	directorytest.Announce(t, publisher, directorytest.Entry("a", 1))
	directorytest.Announce(t, publisher, directorytest.Entry("b", 2))
	for i := range 20 { // so that the new data is at a smaller revision
		server.Put("/elsewhere", string(rune('a'+i)))
	}
	r, stop := directorytest.Watch(t, d)
	defer stop()
	r.Want(directory.Appeared, "a")
	r.Want(directory.Appeared, "b")
	server.Stop()
	server.Wipe()
	server.Start()
	until(t, "entries on the servers", func() bool {
		response, err := server.Client().Get(context.Background(), "/tagbus/test/e/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		return err == nil && response.Count == 2
	})
	until(t, "end of the problem", func() bool { return d.Stats().Problems == 0 }) // on a busy machine it was one
	// The connection of d may not have tried again.
	until(t, "a list", func() bool {
		_, err := d.List()
		return err == nil
	})
	wantEntries(t, d, "a", "b")
	directorytest.Announce(t, publisher, directorytest.Entry("c", 1))
	wantAfter(t, r, directory.Appeared, "c") // and nothing else was told before it
	// Those of two entries, before and behind the loss of all, are one each; the answer to the grant of one may be late.
	if s := publisher.Stats(); s.Leases != 2 && s.Leases != 3 {
		t.Errorf("got %d leases, want 2, or 3 on a busy machine", s.Leases)
	}
}

// TestDirectory_newDataThatHasPassedTheOld: a revision does not tell that everything is another one,
// and a watch from there would miss what came before.
func TestDirectory_newDataThatHasPassedTheOld(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	publisher := open(t, server, patient)
	directorytest.Announce(t, publisher, directorytest.Entry("a", 1))
	announceAsOther(t, server, "old")
	proxy := newProxy(t, server)
	d := open(t, server, proxy.endpoint)
	r, stop := directorytest.Watch(t, d)
	defer stop()
	r.Want(directory.Appeared, "a")
	r.Want(directory.Appeared, "old")
	proxy.cut()
	server.Stop()
	server.Wipe()
	server.Start()
	directorytest.Announce(t, publisher, directorytest.Entry("new", 1))
	client := server.Client()
	for range 100 {
		if _, err := client.Put(context.Background(), "/elsewhere", ""); err != nil {
			t.Fatal(err)
		}
	}
	proxy.mend()
	wantAfter(t, r, directory.Appeared, "new")
	if e := wantAfter(t, r, directory.Gone, "old"); !errors.Is(e.Err, directory.ErrExpired) {
		t.Errorf("got %v, want ErrExpired", e.Err)
	}
	wantEntries(t, d, "a", "new")
}

// TestDirectory_aPublisherThatIsGoneAfterAnOutage has Expiry to come back.
func TestDirectory_aPublisherThatIsGoneAfterAnOutage(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	d := open(t, server)
	announceAsOther(t, server, "a")
	r, stop := directorytest.Watch(t, d)
	defer stop()
	r.Want(directory.Appeared, "a")
	server.Stop()
	server.Wipe()
	server.Start()
	if e := wantAfter(t, r, directory.Gone, "a"); !errors.Is(e.Err, directory.ErrExpired) {
		t.Errorf("got %v, want ErrExpired", e.Err)
	}
}

func TestDirectory_compactionDuringAnOutage(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	publisher := open(t, server, patient)
	a := directorytest.Announce(t, publisher, directorytest.Entry("a", 1))
	b := directorytest.Announce(t, publisher, directorytest.Entry("b", 1))
	proxy := newProxy(t, server)
	d := open(t, server, patient, proxy.endpoint)
	r, stop := directorytest.Watch(t, d)
	defer stop()
	r.Want(directory.Appeared, "a")
	r.Want(directory.Appeared, "b")
	proxy.cut()
	if err := a.Update(directorytest.Entry("a", 2)); err != nil {
		t.Fatal(err)
	}
	if err := b.Withdraw(); err != nil {
		t.Fatal(err)
	}
	directorytest.Announce(t, publisher, directorytest.Entry("c", 1))
	ctx := context.Background()
	now, err := server.Client().Get(ctx, "x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.Client().Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	proxy.mend()
	if e := wantAfter(t, r, directory.Changed, "a"); !e.Entry.Equal(directorytest.Entry("a", 2)) {
		t.Errorf("got %v, want the new entry", e.Entry)
	}
	wantAfter(t, r, directory.Appeared, "c")
	until(t, "second look", func() bool { return d.Stats().Looks >= 2 })
	// What happened to b is not known any more: it has Expiry to come back.
	wantEntries(t, d, "a", "b", "c")
}
