// SPDX-License-Identifier: Apache-2.0

package signed_test

import (
	"testing"
	"testing/synctest"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/memory"
	"tagbus/bus/directory/signed"
)

func TestDirectory_aStorageThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t, everything)
		p := x.as("cn:p").store
		s := directorytest.NewSilent(memory.New())
		d := signed.Wrap(s, signed.Config{Identity: p, Access: x})
		n := nameless{d, p}
		directorytest.RunSilent(t, 2*directory.Patience, plain{n}, s) // Watch lists, too
		must(t, d.Close())
	})
}

// plain is a directory whose entries are compared with what was announced: without proofs.
type plain struct{ directory.Directory }

func (p plain) List() ([]directory.Entry, error) {
	entries, err := p.Directory.List()
	for i := range entries {
		entries[i].Proof = nil
	}
	return entries, err
}
