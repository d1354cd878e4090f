// SPDX-License-Identifier: Apache-2.0

package signed_test

import (
	"bytes"
	"testing"
	"time"

	"tagbus/bus/directory"
)

// FuzzProof: no bytes but those that were signed make an entry count.
func FuzzProof(f *testing.F) {
	x := newSite(f, everything)
	reader := x.as("cn:reader").store
	e := entry(f, full(f), x.as("cn:p").store.KeyPair(), time.Now().UnixNano())
	signed := e.Proof
	f.Add(signed)
	f.Add(signed[:len(signed)-1])
	f.Add([]byte{1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0})
	f.Fuzz(func(t *testing.T, proof []byte) {
		if len(proof) > directory.MaxProofBytes {
			t.Skip()
		}
		e := e.Clone()
		e.Proof = proof
		if shown, err := look(t, x, reader, e); (err == nil) != bytes.Equal(proof, signed) || (err != nil) != (shown.Signer == "") {
			t.Errorf("got %+v, %v for other bytes than what was signed", shown, err)
		}
	})
}
