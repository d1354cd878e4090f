// SPDX-License-Identifier: Apache-2.0

package member

import (
	"go.etcd.io/etcd/server/v3/storage/mvcc"
	"go.etcd.io/etcd/server/v3/storage/schema"

	"tagbus/directory/etcd/internal/guard"
)

const (
	lookedAtOnce = 1_000 // changes
	changeBytes  = 200   // that a change takes in memory besides its key and value, about
)

// history returns how many bytes have changed since a revision, up to a bit more than guard.MaxReplay, and the
// last revision.
func (m *Member) history(since int64) (bytes int, last int64) {
	server := m.server()
	if server == nil {
		return 0, 0
	}
	last = server.KV().Rev()
	tx := server.Backend().ReadTx()
	end := mvcc.RevToBytes(mvcc.Revision{Main: last + 1}, mvcc.NewRevBytes())
	for key := mvcc.RevToBytes(mvcc.Revision{Main: since}, mvcc.NewRevBytes()); since <= last && bytes <= guard.MaxReplay; {
		tx.RLock()
		keys, values := tx.UnsafeRange(schema.Key, key, end, lookedAtOnce)
		for _, value := range values {
			bytes += len(value) + changeBytes
		}
		if len(keys) > 0 { // they are gone with the lock
			key = append(append(key[:0], keys[len(keys)-1]...), 0)
		}
		tx.RUnlock()
		if len(keys) < lookedAtOnce {
			break
		}
	}
	return bytes, last
}
