// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"errors"
	"testing"

	"tagbus/access"
	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/memory"
	"tagbus/bus/directory/signed"
	"tagbus/identity"
	"tagbus/internal/testkit/pki"
)

// TestDirectory_conformanceSigned: proofs are kept by the servers.
func TestDirectory_conformanceSigned(t *testing.T) {
	open, a := onServer(t), certificates(t)
	directorytest.Run(t, func(t *testing.T) directory.Opened {
		t.Helper()
		return nameless{signed.Wrap(open(t), signed.Config{Identity: a.Identity(), Access: a}), a}
	})
}

// TestDirectory_doesNotShowUnsignedEntriesOfServers beside one that is signed.
func TestDirectory_doesNotShowUnsignedEntriesOfServers(t *testing.T) {
	storage, a := onServer(t)(t), certificates(t)
	d := signed.Wrap(storage, signed.Config{Identity: a.Identity(), Access: a})
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	directorytest.Announce(t, storage, directorytest.Entry("a", 1))
	directorytest.Announce(t, d, directorytest.Entry("b", 1))
	entries, err := d.List()
	if len(entries) != 1 || entries[0].Instance != "b" || entries[0].Signer != "cn:p" || !errors.Is(err, signed.ErrUnsigned) {
		t.Errorf("got %v, %v, want b, and why not a", entries, err)
	}
	if _, ok := d.(directory.StatsReporter); !ok {
		t.Error("got no stats, want those of the servers")
	}
}

// certificates returns those of a process, without a policy.
func certificates(t *testing.T) *access.Access {
	t.Helper()
	ca := pki.NewCA(t, "cn:site")
	own, dir := ca.Issue(t, "cn:p"), t.TempDir()
	a, err := access.Open(access.Config{Identity: identity.Config{
		Certificate: pki.Write(t, dir, "own.pem", pki.PEM(own)),
		Key:         pki.Write(t, dir, "own.key", own.KeyPEM(t)),
		CA:          pki.Write(t, dir, "ca.pem", pki.PEM(ca)),
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// nameless is a directory whose entries are compared with what was announced: without the signer.
type nameless struct {
	directory.Opened
	access *access.Access
}

func (n nameless) Watch(notify func(directory.Event)) (stop func(), err error) {
	return n.Opened.Watch(func(e directory.Event) {
		e.Entry.Signer = ""
		notify(e)
	})
}

func (n nameless) List() ([]directory.Entry, error) {
	entries, err := n.Opened.List()
	for i := range entries {
		entries[i].Signer = ""
	}
	return entries, err
}

// Announce adds what a mirror has copied with the proof of the original.
func (n nameless) Announce(e directory.Entry) (directory.Registration, error) {
	if e.Mirror == "" {
		return n.Opened.Announce(e)
	}
	from := memory.New()
	original := signed.Wrap(from, signed.Config{Identity: n.access.Identity(), Access: n.access})
	defer func() { _ = original.Close() }()
	mirror := e.Mirror
	e.Mirror = ""
	if _, err := original.Announce(e); err != nil {
		return nil, err
	}
	entries, err := from.List()
	if err != nil {
		return nil, err
	}
	entries[0].Mirror = mirror
	return n.Opened.Announce(entries[0])
}
