// SPDX-License-Identifier: Apache-2.0

package signed

import (
	"crypto/tls"

	"tagbus/bus/directory"
)

// MaxSeen is how many proofs are remembered.
const MaxSeen = maxSeen

// Sign returns the proof of an entry.
func Sign(e directory.Entry, pair *tls.Certificate, nanos int64) ([]byte, error) {
	return sign(&e, pair, nanos)
}

// Remembered returns of how many instances of signers the newest proof is remembered.
func (d *Directory) Remembered() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.seen)
}
