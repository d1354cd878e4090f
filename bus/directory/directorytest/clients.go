// SPDX-License-Identifier: Apache-2.0

package directorytest

import (
	"errors"
	"testing"

	"tagbus/bus/directory"
	"tagbus/tags"
)

// Client returns a valid entry of a subscriber.
func Client(instance string, wanted ...tags.Tag) directory.Entry {
	return directory.Entry{
		Instance: instance, Name: "event-builder", Host: "pc-08", PID: 815, Backend: "tcp", Role: directory.Subscriber, Tags: tags.Of(wanted...),
	}
}

// testClients is about the directory of the clients, if there is one.
func testClients(t *testing.T, d directory.Opened) {
	t.Helper()
	clients := directory.ClientsOf(d)
	if clients == nil {
		return
	}
	if directory.ClientsOf(d) != clients || directory.ClientsOf(clients) != nil && directory.ClientsOf(clients) == clients {
		t.Error("got another directory of clients, want one")
	}
	if entries, err := clients.List(); len(entries) > 0 || err != nil {
		t.Errorf("got clients %v, %v, want none", entries, err)
	}
	Announce(t, d, Entry("a", 1)) // a client is listed beside a publisher
	r, stop := Watch(t, d)
	defer stop()
	r.Want(directory.Appeared, "a")
	c := Announce(t, clients, Client("c", 1))
	listed := func(want ...directory.Entry) {
		t.Helper()
		entries, err := clients.List()
		for i := range entries {
			entries[i].Signer = ""
		}
		if err != nil || len(entries) != len(want) || len(want) > 0 && !entries[0].Equal(want[0]) {
			t.Errorf("got clients %+v, %v, want %+v", entries, err, want)
		}
	}
	listed(Client("c", 1))
	if err := c.Update(Client("c", 1, 2)); err != nil {
		t.Errorf("got %v from Update, want nil", err)
	}
	listed(Client("c", 1, 2))
	if err := c.Withdraw(); err != nil {
		t.Errorf("got %v from Withdraw, want nil", err)
	}
	listed()
	Announce(t, d, Entry("z", 1))
	r.Want(directory.Appeared, "z") // and nothing of the client before
	if entries, err := d.List(); len(entries) != 2 || err != nil {
		t.Errorf("got %v, %v, want the two publishers", entries, err)
	}
	Announce(t, clients, Client("open", 1))
	if err := d.Close(); err != nil {
		t.Errorf("got %v from Close, want nil", err)
	}
	if _, err := clients.Announce(Client("late", 1)); !errors.Is(err, directory.ErrClosed) {
		t.Errorf("got %v from the clients of a closed directory, want ErrClosed", err)
	}
}
