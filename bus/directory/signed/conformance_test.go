// SPDX-License-Identifier: Apache-2.0

package signed_test

import (
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/file"
	"tagbus/bus/directory/memory"
	"tagbus/bus/directory/signed"
	"tagbus/identity"
)

// nameless is a directory whose entries are compared with what was announced: without the signer.
type nameless struct {
	directory.Opened
	store *identity.Store
}

func (n nameless) Watch(notify func(directory.Event)) (stop func(), err error) {
	return n.Opened.Watch(func(e directory.Event) {
		e.Entry.Signer = ""
		notify(e)
	})
}

// Announce signs what a mirror has copied as the process of the original would have.
func (n nameless) Announce(e directory.Entry) (directory.Registration, error) {
	if e.Mirror != "" {
		var err error
		if e, err = signed.Sign(e, n.store.KeyPair(), time.Now().UnixNano()); err != nil {
			return nil, err
		}
	}
	return n.Opened.Announce(e)
}

func (n nameless) List() ([]directory.Entry, error) {
	entries, err := n.Opened.List()
	for i := range entries {
		entries[i].Signer = ""
	}
	return entries, err
}

func TestDirectory_conformance(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) directory.Opened{
		"memory": func(*testing.T) directory.Opened { return memory.New() },
		"file": func(t *testing.T) directory.Opened {
			t.Helper()
			d, err := file.Open(t.TempDir(), file.Config{Beat: 20 * time.Millisecond, Poll: 20 * time.Millisecond})
			must(t, err)
			return d
		},
	} {
		t.Run(name, func(t *testing.T) {
			directorytest.Run(t, func(t *testing.T) directory.Opened {
				t.Helper()
				x := newSite(t, everything)
				p := x.as("cn:p").store
				return nameless{signed.Wrap(open(t), signed.Config{Identity: p, Access: x}), p}
			})
		})
	}
}

// TestWrap_statsAreThoseOfTheStorage, if it has any.
func TestWrap_statsAreThoseOfTheStorage(t *testing.T) {
	x := newSite(t, everything)
	p := x.as("cn:p").store
	folder, err := file.Open(t.TempDir(), file.Config{})
	must(t, err)
	d := signed.Wrap(folder, signed.Config{Identity: p, Access: x})
	announce(t, d, "a", 1)
	reporter, ok := d.(directory.StatsReporter)
	if !ok || reporter.Stats().Registrations != 1 {
		t.Errorf("got %T, want one with the stats of the folder", d)
	}
	must(t, d.Close())
	if _, err := folder.List(); err == nil {
		t.Error("got that the folder is open, want it closed with the wrapper")
	}
	if _, ok := signed.Wrap(memory.New(), signed.Config{Identity: p, Access: x}).(directory.StatsReporter); ok {
		t.Error("got stats of a directory without them")
	}
}
