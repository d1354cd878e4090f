// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"testing"
	"testing/synctest"

	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/file"
)

// TestDirectory_Clients_endWithoutAnErrorWhileTheDiskIsAway: nothing fails without its entry, which
// expires. A subscriber that ended by a goodbye had status 1 for it.
func TestDirectory_Clients_endWithoutAnErrorWhileTheDiskIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		d, err := file.Open(t.TempDir(), polled.WithPauses(s.pause))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Clients().Announce(directorytest.Client("c", 1)); err != nil {
			t.Fatal(err)
		}
		s.goes("")
		var closed error
		if took := took(func() { closed = d.Close() }); took > file.Patience {
			t.Errorf("Close took %v, want at most %v", took, file.Patience)
		}
		if closed != nil {
			t.Errorf("got %v from Close, want nil", closed)
		}
		s.comes()
		synctest.Wait()
	})
}
