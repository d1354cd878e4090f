// SPDX-License-Identifier: Apache-2.0

package signed_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/memory"
	"tagbus/bus/directory/signed"
)

// TestDirectory_Clients_areSigned: one without a certificate is not shown, and one that may subscribe to
// nothing is.
func TestDirectory_Clients_areSigned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t, `{"rules":[{"who": "cn:p", "publish": "1"}]}`)
		storage := memory.New()
		clients := directory.ClientsOf(x.wrap(storage, x.as("cn:p").store))
		_, err := storage.Clients().Announce(directorytest.Client("stranger", 1))
		must(t, err)
		_, err = clients.Announce(directorytest.Client("c", 5))
		must(t, err)
		entries, err := directory.ClientsOf(x.wrap(storage, x.as("cn:reader").store)).List()
		if len(entries) != 1 || entries[0].Instance != "c" || entries[0].Signer != "cn:p" || !errors.Is(err, signed.ErrUnsigned) {
			t.Errorf("got %v, %v, want the client that is signed", entries, err)
		}
	})
}
