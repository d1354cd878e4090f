// SPDX-License-Identifier: Apache-2.0

package etcd_test

import (
	"testing"

	"tagbus/bus/directory/directorytest"
	"tagbus/directory/etcd/internal/embedded"
)

// TestDirectory_olderDataThatComeBack lack what was announced and changed since, and have the lease: a
// backup that was made while the program ran, or a virtual machine that was set back.
func TestDirectory_olderDataThatComeBack(t *testing.T) {
	t.Parallel()
	for _, watching := range []bool{true, false} {
		server := embedded.Start(t)
		publisher := open(t, server)
		if watching {
			_, stop := directorytest.Watch(t, publisher)
			defer stop()
		}
		a := directorytest.Announce(t, publisher, directorytest.Entry("a", 1))
		server.Stop()
		server.Save()
		server.Start()
		until(t, "update", func() bool { return a.Update(directorytest.Entry("a", 2)) == nil })
		directorytest.Announce(t, publisher, directorytest.Entry("b", 3))
		server.Stop()
		server.Restore()
		server.Start()
		d := open(t, server, patient)
		until(t, "entry that was announced since", func() bool {
			entries, err := d.List()
			return err == nil && len(entries) == 2 && entries[0].Equal(directorytest.Entry("a", 2)) && entries[1].Equal(directorytest.Entry("b", 3))
		})
	}
}
