// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"slices"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// stayThere checks now and then that the servers still have what was announced, until the
// Directory is closed.
func (d *Directory) stayThere() {
	timer := time.NewTimer(jittered(d.config.Expiry))
	defer timer.Stop()
	var counting time.Time // not before then
	for {
		select {
		case <-d.ctx.Done():
			return
		case <-timer.C:
			d.verify()
			counting = d.countIfDue(counting)
			timer.Reset(jittered(d.config.Expiry))
		}
	}
}

// verify makes keep write again what the servers have lost or others have changed.
func (d *Directory) verify() {
	d.mu.Lock()
	var written []*registration
	for _, r := range d.registrations {
		if r.written > 0 && !r.withdrawn {
			written = append(written, r)
		}
	}
	d.mu.Unlock()
	for part := range slices.Chunk(written, maxTxn) {
		gets := make([]clientv3.Op, len(part))
		for i, r := range part {
			gets[i] = clientv3.OpGet(d.keyOf(r.instance), clientv3.WithKeysOnly())
		}
		newest := d.newest()
		var response *clientv3.TxnResponse
		err := d.servers.do(d.ctx, kindVerify, func(ctx context.Context) (err error) {
			response, err = d.servers.client.Txn(ctx).Then(gets...).Commit()
			return err
		})
		if err != nil {
			return // it is tried again
		}
		d.sawRevision(newest, response.Header.Revision)
		for i, r := range part {
			var revision int64
			if kvs := response.Responses[i].GetResponseRange().GetKvs(); len(kvs) > 0 {
				revision = kvs[0].ModRevision
			}
			d.sawOwn(r.instance, revision, response.Header.Revision)
		}
	}
}

// newest returns the highest revision at which this process wrote what it announces; 0: it
// wrote nothing.
func (d *Directory) newest() (revision int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.registrations {
		if r.written > 0 {
			revision = max(revision, r.revision)
		}
	}
	return revision
}

// sawRevision makes keep write again what was written after the revision that the servers
// have, if older data came back to them: a backup, or a virtual machine that was set back. The
// lease may be in it.
//
//   - before: newest, before the servers were asked.
//   - at: the revision of their answer, which is what all of them agree on.
func (d *Directory) sawRevision(before, at int64) {
	if at >= before {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.registrations {
		if r.written > 0 && r.revision > at {
			r.written, r.retry = 0, time.Time{}
		}
	}
	d.wake()
}

// sawOwn compares what the servers have of an instance with what this process wrote, if it
// announced it.
//
//   - revision: of the key; 0: there is none.
//   - at: the revision of the servers at which that was so.
func (d *Directory) sawOwn(instance string, revision, at int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := d.registrations[instance]
	if r == nil || r.written == 0 || r.withdrawn || r.revision == revision {
		return
	}
	if at < r.revision {
		return // before the entry was written; sawRevision looks for older data
	}
	r.written, r.retry = 0, time.Time{}
	d.wake()
}
