// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
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
	noted bool               // the servers' data has a mark
	own   []clientv3.LeaseID // that were granted, the last one last
	since time.Time          // when renewing it began to fail; zero: it does not
	err   error              // why, once that has lasted; nil: it is renewed
}

// leaseID returns the lease, and gets one first if there is none. It is renewed from then
// on, however long the next request takes. Only keep calls it.
func (d *Directory) leaseID() (clientv3.LeaseID, error) {
	d.mu.Lock()
	id, noted := d.lease.id, d.lease.noted
	d.mu.Unlock()
	if id == 0 {
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
		d.gotLease(id)
		noted = false
	}
	if !noted {
		if err := d.markEpoch(); err != nil {
			return 0, err
		}
		d.mu.Lock()
		d.lease.noted = true
		d.mu.Unlock()
	}
	return id, nil
}

// gotLease notes a new lease.
func (d *Directory) gotLease(id clientv3.LeaseID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lease.id, d.lease.noted, d.lease.since = id, false, time.Time{}
	if d.lease.own = append(d.lease.own, id); len(d.lease.own) > maxOwnLeases {
		d.lease.own = slices.Delete(d.lease.own, 0, 1)
	}
	select {
	case d.leased <- struct{}{}:
	default:
	}
}

// markEpoch gives data that begins again a mark of its own, by which watchers tell it from
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
	_ = d.revoke(d.ctx, id)
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

// stayAlive renews the lease until the Directory is closed.
func (d *Directory) stayAlive() {
	period := d.config.Expiry / 3
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
		if d.renew() {
			timer.Reset(jittered(period))
		} else {
			timer.Reset(jittered(retryAway))
		}
	}
}

// jittered returns 0.9 to 1.1 times t: programs that start at once do not ask at once for
// ever.
func jittered(t time.Duration) time.Duration {
	return t - t/10 + rand.N(t/5+1) // no secret
}

// renew renews the lease once, and reports whether there is nothing to repeat soon.
func (d *Directory) renew() bool {
	d.mu.Lock()
	id := d.lease.id
	d.mu.Unlock()
	if id == 0 {
		return true
	}
	left, err := d.renewAnywhere(id)
	if err == nil && left <= 0 {
		d.loseLease(id)
	}
	d.renewed(err)
	return err == nil
}

// maxAsked is how many servers are asked at once to renew a lease.
const maxAsked = 3

// renewAnywhere asks a server to renew a lease, and further ones while it says nothing: one
// to which the way is lost never will, and one that is slow may in time. It returns the
// first answer, or why there is none.
func (d *Directory) renewAnywhere(id clientv3.LeaseID) (left int64, err error) {
	type answer struct {
		left int64
		err  error
	}
	answers := make(chan answer, maxAsked)
	var asking sync.WaitGroup
	defer asking.Wait()
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	ask := func() {
		asking.Go(func() {
			var a answer
			a.err = d.servers.do(ctx, kindKeepalive, func(ctx context.Context) (err error) {
				a.left, err = d.servers.renew(ctx, id)
				return err
			})
			answers <- a
		})
	}
	ask()
	silent := time.NewTicker(d.config.Expiry / 6)
	defer silent.Stop()
	for asked, answered := 1, 0; ; {
		select {
		case a := <-answers:
			if answered++; a.err == nil || answered == asked {
				return a.left, a.err
			}
		case <-silent.C:
			if asked < maxAsked {
				asked++
				ask()
			}
		}
	}
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
