// SPDX-License-Identifier: Apache-2.0

package check

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory"
)

// onList makes a looker's bus one that is in no folder, with what list returns.
func onList(l *looker, list func() ([]directory.Entry, error)) {
	l.bus, l.folder, l.again, l.list = "etcd://a,b/x", nil, nil, list
}

// A directory that is no folder is looked at as one, and nothing is said of files.
func TestABusOnServersIsLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, asked, survey := world(3)
		var entries []directory.Entry
		for _, f := range survey.Files {
			entries = append(entries, f.Entry)
		}
		entries = append(entries, directory.Entry{Instance: "z", Role: "gateway"})
		looks := 0
		onList(l, func() ([]directory.Entry, error) {
			if looks++; looks > 1 {
				return entries[:2], nil // one has gone meanwhile
			}
			time.Sleep(20 * time.Millisecond)
			return entries, nil
		})
		s := l.look(t.Context())
		if len(s.entries) != 2 || !s.entries[0].reached() || s.entries[0].state() == nil || looks != 2 || asked.asked["I0000"] != 2 {
			t.Fatalf("got %d entries after %d looks, want the 2 that are still there, greeted and asked", len(s.entries), looks)
		}
		for _, f := range judge(s) {
			if f.Group == "folder" || f.ID == "stale-entry" || f.ID == "entry-not-renewed" || strings.Contains(f.Text, "file") && f.Group != "host" {
				t.Errorf("got %+v of a bus without files", f)
			}
			if f.Group == "directory" && (f.Level != OK || f.Text != "it answers this host; 4 entries in 20ms") {
				t.Errorf("got %+v, want that all is well", f)
			}
		}
	})
}

func TestServersThatAreAwayAreAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, _ := world(1)
		away := errors.New("the servers do not answer")
		onList(l, func() ([]directory.Entry, error) { return nil, away })
		l.asker = func() (asker, error) { t.Error("an asker is opened"); return nil, away }
		l.own = func() map[netip.Addr]bool { return nil }
		all := judge(l.look(t.Context()))
		if worst(all) != Error || all[0].ID != "directory-unreachable" {
			t.Errorf("got %+v, want directory-unreachable", all)
		}
		for _, f := range all {
			if f.Group == "entries" || f.Group == "folder" {
				t.Errorf("got %+v, though nothing was listed", f)
			}
		}
	})
}
