// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"tagbus/bus/directory"
)

// Pauses before what failed is tried again.
const (
	retryAway   = 500 * time.Millisecond // servers that are away: the client dials them again by itself
	retryOthers = 5 * time.Second        // what they refused
)

// keep makes the servers have what is announced, and nothing else of this process, until
// the Directory is closed. It is the one goroutine that writes entries.
func (d *Directory) keep() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for d.ctx.Err() == nil {
		next := d.writeAll()
		if next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
		select {
		case <-d.ctx.Done():
		case <-d.dirty:
		case <-timer.C:
		}
	}
}

// wake makes keep look for what is to be done.
func (d *Directory) wake() {
	select {
	case d.dirty <- struct{}{}:
	default:
	}
}

// writeAll tries all that is due, and returns when to try next; zero: when woken.
func (d *Directory) writeAll() (next time.Time) {
	now := time.Now()
	for _, r := range d.unsettled() {
		d.mu.Lock()
		due := !r.retry.After(now)
		d.mu.Unlock()
		if due {
			d.write(r)
		}
		d.mu.Lock()
		if !r.settled() && (next.IsZero() || r.retry.Before(next)) {
			next = r.retry
		}
		d.mu.Unlock()
		if d.ctx.Err() != nil {
			break
		}
	}
	d.dropIdleLease()
	return next
}

// unsettled returns the registrations with something to do, in the order of their
// instances.
func (d *Directory) unsettled() (result []*registration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.registrations {
		if !r.settled() {
			result = append(result, r)
		}
	}
	slices.SortFunc(result, func(a, b *registration) int { return cmp.Compare(a.instance, b.instance) })
	return result
}

// write makes the servers have what r says, once, and notes how that went.
func (d *Directory) write(r *registration) {
	d.mu.Lock()
	value, version, withdrawn := r.value, r.version, r.withdrawn
	d.mu.Unlock()
	var revision int64
	var err error
	if withdrawn {
		err = d.remove(d.ctx, []string{r.instance})
	} else {
		revision, err = d.put(r.instance, value)
	}
	if d.abandoned(r, withdrawn) {
		_ = d.remove(d.ctx, []string{r.instance})
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx.Err() != nil {
		return
	}
	if err != nil && r.withdrawn != withdrawn {
		return // Withdraw, which came meanwhile, waits for the try that removes it
	}
	r.failing, r.err = err != nil, err
	switch {
	case err != nil && errors.Is(err, ErrAway) && !isSlow(err): // more requests make slow ones slower
		r.retry = time.Now().Add(retryAway)
	case err != nil:
		r.retry = time.Now().Add(retryOthers)
	case withdrawn:
		r.removed = true
		if d.registrations[r.instance] == r {
			delete(d.registrations, r.instance)
		}
	default:
		r.written, r.revision, r.known = version, revision, true
	}
	d.tell(r)
	if r.tried != nil {
		close(r.tried)
		r.tried = nil
	}
}

// abandoned reports whether r was given up while it was written: Announce has returned an
// error.
func (d *Directory) abandoned(r *registration, withdrawn bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return r.removed && !withdrawn
}

// tell reports what keeps r from being announced, to its owner and to watchers of this
// Directory. The lock is held.
func (d *Directory) tell(r *registration) {
	if !r.known && !r.withdrawn {
		return // Announce returns it
	}
	r.Tell(cmp.Or(r.err, d.lease.err, d.full, d.many))
}

// put writes an entry with the lease of this process.
//
//   - Errors: directory.ErrAnnounced, *ServerError, those of d.ctx.
func (d *Directory) put(instance string, value []byte) (revision int64, err error) {
	for range 2 {
		var lease clientv3.LeaseID
		if lease, err = d.leaseID(); err != nil {
			return 0, err
		}
		revision, err = d.putWith(lease, instance, value)
		if !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			break
		}
		d.loseLease(lease)
	}
	return revision, err
}

// putWith writes an entry, if the servers have none of its instance, or one of this
// process: one may be there of a try whose answer was lost.
func (d *Directory) putWith(lease clientv3.LeaseID, instance string, value []byte) (int64, error) {
	key := d.keyOf(instance)
	put := clientv3.OpPut(key, string(value), clientv3.WithLease(lease))
	free := []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(key), "=", 0)}
	look := []clientv3.Op{clientv3.OpGet(key)}
	for _, own := range d.ownLeases() { // a member shows the lease of an entry to a request that names it
		look = append(look, clientv3.OpTxn([]clientv3.Cmp{clientv3.Compare(clientv3.LeaseValue(key), "=", own)}, nil, nil))
	}
	for {
		var response *clientv3.TxnResponse
		err := d.servers.do(d.ctx, kindPut, func(ctx context.Context) (err error) {
			response, err = d.servers.client.Txn(ctx).If(free...).Then(put).Else(look...).Commit()
			return err
		})
		switch {
		case err != nil:
			return 0, err
		case response.Succeeded:
			return response.Header.Revision, nil
		}
		kvs := response.Responses[0].GetResponseRange().GetKvs()
		if len(kvs) == 0 {
			return 0, d.servers.explain(d.ctx, errors.New("a key is neither there nor not"))
		}
		switch found := kvs[0]; {
		case found.Lease != 0 && !d.granted(clientv3.LeaseID(found.Lease)): // without a lease no process has it
			return 0, fmt.Errorf("%w: the servers have %s of another process", directory.ErrAnnounced, instance)
		case clientv3.LeaseID(found.Lease) == lease && string(found.Value) == string(value):
			return found.ModRevision, nil
		default:
			free = []clientv3.Cmp{clientv3.Compare(clientv3.ModRevision(key), "=", found.ModRevision), clientv3.Compare(clientv3.LeaseValue(key), "=", found.Lease)}
		}
	}
}

// maxTxn is how many keys one transaction changes; the servers allow 128 by default.
const maxTxn = 100

// remove deletes the entries of at most maxTxn instances, and says in the same transaction
// that they were withdrawn. What has another process's lease stays.
//
//   - Errors: *ServerError, those of ctx.
func (d *Directory) remove(ctx context.Context, instances []string) error {
	deletes := make([]clientv3.Op, 0, maxTxn)
	for _, lease := range d.ownLeases() {
		for _, instance := range instances {
			ours := clientv3.Compare(clientv3.LeaseValue(d.keyOf(instance)), "=", lease)
			deletes = append(deletes, clientv3.OpTxn([]clientv3.Cmp{ours}, []clientv3.Op{clientv3.OpDelete(d.keyOf(instance))}, nil))
		}
	}
	for part := range slices.Chunk(deletes, maxTxn) {
		if err := d.commit(ctx, append([]clientv3.Op{clientv3.OpPut(d.noteKey(), "")}, part...)...); isFull(err) {
			err = d.commit(ctx, part...) // these they still take; watchers are told that it expired
			if err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (d *Directory) commit(ctx context.Context, ops ...clientv3.Op) error {
	return d.servers.do(ctx, kindWithdraw, func(ctx context.Context) error {
		_, err := d.servers.client.Txn(ctx).Then(ops...).Commit()
		return err
	})
}
