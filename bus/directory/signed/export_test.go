// SPDX-License-Identifier: Apache-2.0

package signed

import (
	"crypto/tls"
	"fmt"
	"time"

	"tagbus/bus/directory"
	"tagbus/identity"
)

// MaxSeen is how many proofs are remembered.
const MaxSeen = maxSeen

// Sign returns an entry with its proofs.
func Sign(e directory.Entry, pair *tls.Certificate, nanos int64) (directory.Entry, error) {
	err := sign(&e, pair, nanos)
	return e, err
}

// Remember notes the proofs of n instances, each a microsecond newer than the one before, and
// returns how many are remembered then, and whether that of the last one is.
func (d *Directory) Remember(n int, first time.Time) (remembered int, last bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := &known{peer: new(identity.Peer)}
	for i := range n {
		k.entry.Instance, k.made = fmt.Sprint(i), first.Add(time.Duration(i)*time.Microsecond)
		d.remember(k)
	}
	return len(d.seen), d.seen[seenKey(k)] != 0
}

// Made returns when the proof of an entry was made.
func Made(r directory.Registration) time.Time { return r.(reporting).made }
