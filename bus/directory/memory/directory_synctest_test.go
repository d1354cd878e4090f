// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"errors"
	"net/netip"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/directory"
	"tagbus/bus/directory/memory"
	"tagbus/tags"
)

func entry(instance string, tag tags.Tag) directory.Entry {
	return directory.Entry{
		Instance: instance, Backend: "tcp", Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:1")},
		Tags: tags.Of(tag), PageBytes: 1, MaxMessageBytes: 1,
	}
}

// TestDeterministic shows what package bus relies on: after synctest.Wait every
// event of the past has been delivered, each by itself and in order.
func TestDeterministic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d memory.Directory
		var got []string
		stop, err := d.Watch(func(e directory.Event) { got = append(got, e.String()) })
		if err != nil {
			t.Fatal(err)
		}
		a, err := d.Announce(entry("a", 1))
		if err != nil {
			t.Fatal(err)
		}
		for tag := range tags.Tag(3) {
			if err := a.Update(entry("a", 10+tag)); err != nil {
				t.Fatal(err)
			}
		}
		d.Expire("a", directory.ErrExpired)
		d.Expire("a", directory.ErrExpired)
		if err := a.Update(entry("a", 10)); err != nil {
			t.Fatal(err)
		}
		d.Report("disk:", errors.New("no disk"))
		if err := a.Withdraw(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := []string{
			"appeared a", "changed a", "changed a", "changed a",
			"gone a: directory: entry not renewed in time", "appeared a", "problem: no disk", "gone a",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("got other events than wanted (-want +got):\n%s", diff)
		}
		stop()
		if err := d.Close(); err != nil {
			t.Errorf("got %v from Close, want nil", err)
		}
	})
}
