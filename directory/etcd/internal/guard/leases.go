// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

// hidden stands for a lease that the caller has not named. None has this number.
const hidden = 1

// leases are those that a request names.
type leases map[int64]bool

// of returns a lease as the caller gets it.
func (l leases) of(lease int64) int64 {
	if lease == 0 || l[lease] {
		return lease
	}
	return hidden
}

// hide takes leases out of an answer that the request did not name.
func (l leases) hide(response any) {
	switch r := response.(type) {
	case *etcdserverpb.RangeResponse:
		l.hideAll(r.GetKvs())
	case *etcdserverpb.TxnResponse:
		for _, one := range r.GetResponses() {
			l.hide(one.GetResponseRange())
			l.hide(one.GetResponseTxn())
		}
	}
}

func (l leases) hideAll(kvs []*mvccpb.KeyValue) {
	for _, kv := range kvs {
		kv.Lease = l.of(kv.Lease)
	}
}

// withoutLeases returns the response of a watch without the leases in it. What a watch tells is
// shared by all watches, and must not be changed.
func withoutLeases(r *etcdserverpb.WatchResponse) *etcdserverpb.WatchResponse {
	events := make([]*mvccpb.Event, len(r.GetEvents()))
	for i, e := range r.GetEvents() {
		events[i] = &mvccpb.Event{Type: e.Type, Kv: withoutLease(e.Kv), PrevKv: withoutLease(e.PrevKv)}
	}
	return &etcdserverpb.WatchResponse{
		Header: r.GetHeader(), WatchId: r.GetWatchId(), Created: r.GetCreated(), Canceled: r.GetCanceled(),
		CompactRevision: r.GetCompactRevision(), CancelReason: r.GetCancelReason(), Fragment: r.GetFragment(), Events: events,
	}
}

func withoutLease(kv *mvccpb.KeyValue) *mvccpb.KeyValue {
	if kv == nil {
		return nil
	}
	return &mvccpb.KeyValue{
		Key: kv.Key, CreateRevision: kv.CreateRevision, ModRevision: kv.ModRevision, Version: kv.Version,
		Value: kv.Value, Lease: leases(nil).of(kv.Lease),
	}
}
