// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/directory/etcd"
	"tagbus/directory/etcd/internal/embedded"
)

// TestDirectory_updateWhileAway fails, and is done when the servers are back.
func TestDirectory_updateWhileAway(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	publisher, d := open(t, server, patient), open(t, server, patient)
	a := directorytest.Announce(t, publisher, directorytest.Entry("a", 1))
	told := reportsOf(t, a)
	r, stop := directorytest.Watch(t, d)
	defer stop()
	r.Want(directory.Appeared, "a")
	server.Stop()
	if err := a.Update(directorytest.Entry("a", 2)); !errors.Is(err, etcd.ErrAway) {
		t.Errorf("got %v from Update, want ErrAway", err)
	}
	if err := told.next(t); !errors.Is(err, etcd.ErrAway) {
		t.Errorf("got report %v, want ErrAway", err)
	}
	server.Start()
	if err := told.next(t); err != nil {
		t.Errorf("got report %v, want nil", err)
	}
	if e := wantAfter(t, r, directory.Changed, "a"); !e.Entry.Equal(directorytest.Entry("a", 2)) {
		t.Errorf("got %v, want the new entry", e)
	}
}

// TestDirectory_withdrawWhileAway fails after a while, and is done when the servers are back.
func TestDirectory_withdrawWhileAway(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	publisher, d := open(t, server, patient, usual), open(t, server, patient)
	a := directorytest.Announce(t, publisher, directorytest.Entry("a", 1))
	directorytest.Announce(t, publisher, directorytest.Entry("b", 1))
	wantEntries(t, d, "a", "b")
	server.Stop()
	if err := a.Withdraw(); !errors.Is(err, etcd.ErrAway) {
		t.Errorf("got %v from Withdraw, want ErrAway", err)
	}
	if err := a.Update(directorytest.Entry("a", 2)); !errors.Is(err, directory.ErrWithdrawn) {
		t.Errorf("got %v from Update, want ErrWithdrawn", err)
	}
	if n := publisher.Stats().Registrations; n != 1 {
		t.Errorf("got %d registrations, want 1", n)
	}
	server.Start()
	until(t, "end of the entry", func() bool { entries, err := d.List(); return err == nil && len(entries) == 1 })
	wantEntries(t, d, "b")
	if err := a.Withdraw(); err != nil {
		t.Errorf("got %v from the second Withdraw, want nil", err)
	}
}

// TestDirectory_withdrawUntilTheServersAreBack: the first try fails, and one of the next ones does not.
func TestDirectory_withdrawUntilTheServersAreBack(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	publisher := open(t, server, patient)
	a := directorytest.Announce(t, publisher, directorytest.Entry("a", 1))
	server.Stop()
	withdrawn := make(chan error, 1)
	go func() { withdrawn <- a.Withdraw() }()
	until(t, "try that fails", func() bool {
		return slices.ContainsFunc(publisher.Stats().Requests, func(r directory.RequestStats) bool { return r.Kind == "withdraw" && r.Failures > 0 })
	})
	server.Start()
	if err := <-withdrawn; err != nil {
		t.Errorf("got %v from Withdraw, want nil", err)
	}
	wantEntries(t, open(t, server))
}

// TestDirectory_Announce_againWhileTheWithdrawalWaits replaces the entry.
func TestDirectory_Announce_againWhileTheWithdrawalWaits(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	publisher := open(t, server, patient, usual)
	a := directorytest.Announce(t, publisher, directorytest.Entry("a", 1))
	server.Stop()
	if err := a.Withdraw(); err == nil {
		t.Error("got nil from Withdraw, want an error")
	}
	told := reportsOf(t, directorytest.Announce(t, publisher, directorytest.Entry("a", 2)))
	if err := told.next(t); !errors.Is(err, etcd.ErrAway) {
		t.Errorf("got report %v, want ErrAway", err)
	}
	server.Start()
	if err := told.next(t); err != nil {
		t.Errorf("got report %v, want nil", err)
	}
	entries, err := open(t, server).List()
	if err != nil || len(entries) != 1 || !entries[0].Equal(directorytest.Entry("a", 2)) {
		t.Errorf("got %v, %v, want the second entry", entries, err)
	}
}

// TestDirectory_anAnswerThatIsLost: what the servers have done is not taken for another process's, and
// not done twice.
func TestDirectory_anAnswerThatIsLost(t *testing.T) {
	t.Parallel()
	server := embedded.Start(t)
	proxy := newProxy(t, server)
	hasty := func(c *etcd.Config) { c.RequestTimeout, c.AnnounceTimeout = 500*time.Millisecond, 100*time.Millisecond }
	publisher, d := open(t, server, proxy.endpoint, patient, hasty), open(t, server, patient)
	until(t, "first entry", func() bool {
		_, err := publisher.Announce(directorytest.Entry("first", 1))
		if errors.Is(err, directory.ErrAnnounced) {
			entries, err := d.List()
			return err == nil && len(entries) == 1
		}
		return err == nil
	})
	r, stop := directorytest.Watch(t, d)
	defer stop()
	r.Want(directory.Appeared, "first")
	proxy.loseAnswers()
	second := directorytest.Announce(t, publisher, directorytest.Entry("second", 1))
	told := reportsOf(t, second)
	if err := told.next(t); !errors.Is(err, etcd.ErrAway) {
		t.Errorf("got report %v, want ErrAway", err)
	}
	r.Want(directory.Appeared, "second") // the servers have done it
	proxy.cut()
	proxy.mend()
	if err := told.next(t); err != nil {
		t.Errorf("got report %v, want nil: the entry is its own", err)
	}
	until(t, "update", func() bool { return second.Update(directorytest.Entry("second", 2)) == nil })
	r.Want(directory.Changed, "second") // and nothing was told before it
}

// TestDirectory_Close_whileAway says that the entries stay for a while, and takes no longer than it
// says, whether the servers refuse connections or say nothing.
func TestDirectory_Close_whileAway(t *testing.T) {
	t.Parallel()
	for _, silent := range []bool{true, false} {
		server := embedded.Start(t)
		proxy := newProxy(t, server)
		const timeout = time.Second
		config := etcd.Config{Prefix: "/tagbus/test/", RequestTimeout: timeout}
		proxy.endpoint(&config)
		d, err := etcd.Open(config)
		if err != nil {
			t.Fatal(err)
		}
		directorytest.Announce(t, d, directorytest.Entry("a", 1))
		until(t, "entry", func() bool { entries, err := d.List(); return err == nil && len(entries) == 1 })
		if proxy.loseAnswers(); !silent {
			proxy.cut()
		}
		began := time.Now()
		for range 2 {
			if err := d.Close(); !errors.Is(err, etcd.ErrAway) {
				t.Errorf("got %v from Close, want ErrAway", err)
			}
		}
		if took := time.Since(began); took > 10*timeout { // twice, and what a busy machine adds
			t.Errorf("got Close after %v, want it within %v", took, 2*timeout)
		}
	}
}
