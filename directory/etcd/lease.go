// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/nats-io/nuid"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// maxOwnLeases is how many of the leases that this process had are remembered. An entry
// with one that ended is deleted, unless the servers got old data back.
const maxOwnLeases = 4

// lease is what keeps the entries of this process. Its fields are those of the Directory's
// lock.
type lease struct {
	id    clientv3.LeaseID   // 0: none
	own   []clientv3.LeaseID // that were granted, the last one last
	since time.Time          // when renewing it began to fail; zero: it does not
	err   error              // why, once that has lasted; nil: it is renewed
}

// leaseID returns the lease, and gets one first if there is none. Only keep calls it.
func (d *Directory) leaseID() (clientv3.LeaseID, error) {
	d.mu.Lock()
	id := d.lease.id
	d.mu.Unlock()
	if id != 0 {
		return id, nil
	}
	err := d.servers.do(d.ctx, kindGrant, func(ctx context.Context) error {
		response, err := d.servers.client.Grant(ctx, d.config.ttl())
		if err == nil {
			id = response.ID
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	d.servers.counts.add(&d.servers.counts.leases)
	if err := d.markEpoch(); err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lease.id, d.lease.since = id, time.Time{}
	if d.lease.own = append(d.lease.own, id); len(d.lease.own) > maxOwnLeases {
		d.lease.own = slices.Delete(d.lease.own, 0, 1)
	}
	select {
	case d.leased <- struct{}{}:
	default:
	}
	return id, nil
}

// markEpoch gives data that begins anew a mark of its own, by which watchers tell it from
// what they know.
func (d *Directory) markEpoch() error {
	key := d.epochKey()
	return d.servers.do(d.ctx, kindPut, func(ctx context.Context) error {
		_, err := d.servers.client.Txn(ctx).
			If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).
			Then(clientv3.OpPut(key, nuid.Next())).Commit()
		return err
	})
}

// granted reports whether id is or was a lease of this process.
func (d *Directory) granted(id clientv3.LeaseID) bool { return slices.Contains(d.ownLeases(), id) }

func (d *Directory) ownLeases() []clientv3.LeaseID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lease.own)
}

// loseLease notes that the servers have ended the lease, and with it all entries.
func (d *Directory) loseLease(id clientv3.LeaseID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lease.id != id {
		return
	}
	d.lease.id = 0
	for _, r := range d.registrations {
		r.written, r.retry = 0, time.Time{}
	}
	if len(d.registrations) > 0 {
		d.config.Logger.Info("etcd: the lease has ended; announcing again", "entries", len(d.registrations))
	}
	d.wake()
}

// dropIdleLease ends the lease when nothing is announced. Only keep calls it.
func (d *Directory) dropIdleLease() {
	d.mu.Lock()
	id := d.lease.id
	if len(d.registrations) > 0 || id == 0 || d.ctx.Err() != nil {
		d.mu.Unlock()
		return
	}
	d.lease.id, d.lease.since, d.lease.err = 0, time.Time{}, nil
	d.mu.Unlock()
	_ = d.revoke(d.ctx, id) //nolint:errcheck // it ends by itself
}

func (d *Directory) revoke(ctx context.Context, id clientv3.LeaseID) error {
	return d.servers.do(ctx, kindRevoke, func(ctx context.Context) error {
		_, err := d.servers.client.Revoke(ctx, id)
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return nil
		}
		return err
	})
}

// stayAlive renews the lease, and checks now and then that the servers still have what was
// announced, until the Directory is closed.
func (d *Directory) stayAlive() {
	period := d.config.Expiry / 3
	verified := time.Now()
	timer := time.NewTimer(period)
	defer timer.Stop()
	for d.ctx.Err() == nil {
		select {
		case <-d.ctx.Done():
			return
		case <-d.leased:
			timer.Reset(jittered(period))
			continue
		case <-timer.C:
		}
		if !d.renew() {
			timer.Reset(jittered(retryAway))
			continue
		}
		timer.Reset(jittered(period))
		if time.Since(verified) >= d.config.Expiry {
			d.verify()
			verified = time.Now()
		}
	}
}

// jittered returns 0.9 to 1.1 times t: programs that start at once do not ask at once for
// ever.
func jittered(t time.Duration) time.Duration {
	return t - t/10 + rand.N(t/5+1) //nolint:gosec // no secret
}

// renew renews the lease once, and reports whether there is nothing to repeat soon.
func (d *Directory) renew() bool {
	d.mu.Lock()
	id := d.lease.id
	d.mu.Unlock()
	if id == 0 {
		return true
	}
	var left int64
	err := d.servers.do(d.ctx, kindKeepalive, func(ctx context.Context) (err error) {
		left, err = d.servers.renew(ctx, id)
		return err
	})
	if err == nil && left <= 0 {
		d.loseLease(id)
	}
	d.renewed(err)
	return err == nil
}

// renewed notes how renewing went, and tells those that announced when it has failed for
// some time.
func (d *Directory) renewed(err error) {
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.ctx.Err() != nil:
		return
	case err == nil:
		d.lease.since, d.lease.err = time.Time{}, nil
	case d.lease.since.IsZero():
		d.lease.since = now
		return
	case now.Sub(d.lease.since) < hushed:
		return
	default:
		d.lease.err = err
	}
	for _, r := range d.registrations {
		d.tell(r)
	}
}

// renew renews a lease, and returns how long it lives, seconds; 0: it has ended.
func (s *servers) renew(ctx context.Context, id clientv3.LeaseID) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.lease.LeaseKeepAlive(clientv3.WithRequireLeader(ctx))
	if err != nil {
		return 0, err
	}
	if err := stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: int64(id)}); err != nil {
		return 0, err
	}
	response, err := stream.Recv()
	if err != nil {
		return 0, err
	}
	return response.TTL, stream.CloseSend()
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
		var response *clientv3.TxnResponse
		err := d.servers.do(d.ctx, kindVerify, func(ctx context.Context) (err error) {
			response, err = d.servers.client.Txn(ctx).Then(gets...).Commit()
			return err
		})
		if err != nil {
			return // it is tried again
		}
		for i, r := range part {
			var revision int64
			if kvs := response.Responses[i].GetResponseRange().GetKvs(); len(kvs) > 0 {
				revision = kvs[0].ModRevision
			}
			d.sawOwn(r.instance, revision, response.Header.Revision)
		}
	}
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
		return // before the entry was written; data that begins anew ends the lease
	}
	r.written, r.retry = 0, time.Time{}
	d.wake()
}
