// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bytes"
	"context"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"tagbus/bus/directory/codec"
	"tagbus/bus/directory/directorytest"
	"tagbus/identity"
)

// client is a caller without a rank.
type client struct{}

func (client) Principal() identity.Principal { return identity.Principal{} }
func (client) Rank() Rank                    { return Client }
func (client) Spend(int, time.Time) bool     { return true }
func (client) String() string                { return "a client" }

// FuzzScope reads ranges. None that is let pass has a key outside of one bus.
func FuzzScope(f *testing.F) {
	for _, seed := range [][2]string{
		{"/tagbus/daq/", "/tagbus/daq0"},
		{"/tagbus/daq/e/x", ""},
		{"\x00", "\x00"},
		{"/tagbus/daq/", "\x00"},
		{"/tagbus/a/", "/tagbus/b/"},
		{"/tagbus/a/\xff", "/tagbus/a0"},
		{"/tagbus/a/z", "/tagbus/a/a"},
		{"/tagbus//x", "/tagbus/0"},
		{"/tagbus/a", "/tagbus/a0"},
	} {
		f.Add([]byte(seed[0]), []byte(seed[1]))
	}
	f.Fuzz(func(t *testing.T, key, end []byte) {
		if new(Guard).inBus(client{}, methodRange, key, end) != nil {
			return
		}
		prefix, _, ok := busOf(key)
		if !ok || !bytes.HasPrefix(key, prefix) {
			t.Fatalf("got %q, want a key of a bus", key)
		}
		for _, outside := range [][]byte{append(bytes.Clone(prefix[:len(prefix)-1]), '/'+1), []byte("/tagbus0"), {0xff}, nil} {
			if len(end) > 0 && bytes.Compare(outside, key) >= 0 && bytes.Compare(outside, end) < 0 {
				t.Fatalf("got a range from %q to %q, which has %q, want none outside of the bus", key, end, outside)
			}
		}
	})
}

// store is what etcd has of some keys, as far as transactions see it.
type store map[string]kv

type kv struct {
	value          string
	lease          int64
	revision, made int64
}

// victim is the key of an entry of another process, and secret its lease.
const (
	victim = "/tagbus/daq/e/victim"
	secret = 0x5ec7e7000000001
	marked = "/tagbus/daq/begun"
)

// holds reports whether a comparison does.
func (s store) holds(c *etcdserverpb.Compare) bool {
	have, want := s[string(c.Key)], int64(0)
	var is int64
	switch c.Target {
	case etcdserverpb.Compare_VERSION:
		is, want = min(have.revision, 1), c.GetVersion()
	case etcdserverpb.Compare_CREATE:
		is, want = have.made, c.GetCreateRevision()
	case etcdserverpb.Compare_MOD:
		is, want = have.revision, c.GetModRevision()
	case etcdserverpb.Compare_LEASE:
		is, want = have.lease, c.GetLease()
	default:
		return bytes.Equal([]byte(have.value), c.GetValue()) == (c.Result == etcdserverpb.Compare_EQUAL)
	}
	switch c.Result {
	case etcdserverpb.Compare_EQUAL:
		return is == want
	case etcdserverpb.Compare_GREATER:
		return is > want
	case etcdserverpb.Compare_LESS:
		return is < want
	default:
		return is != want
	}
}

// apply does a transaction.
func (s store) apply(r *etcdserverpb.TxnRequest) {
	steps := r.Success
	for _, c := range r.Compare {
		if !s.holds(c) {
			steps = r.Failure
		}
	}
	for _, op := range steps {
		switch {
		case op.GetRequestPut() != nil:
			put := op.GetRequestPut()
			s[string(put.Key)] = kv{string(put.Value), put.Lease, 9, 9}
		case op.GetRequestDeleteRange() != nil:
			r := op.GetRequestDeleteRange()
			for key := range s {
				if key == string(r.Key) || len(r.RangeEnd) > 0 && key >= string(r.Key) && key < string(r.RangeEnd) {
					delete(s, key)
				}
			}
		case op.GetRequestTxn() != nil:
			s.apply(op.GetRequestTxn())
		}
	}
}

// FuzzTxn makes transactions of bytes. Those that are let pass leave the entry of another process,
// and the mark of the data, as they are, as long as they do not name its lease.
func FuzzTxn(f *testing.F) {
	value, err := codec.Append(nil, directorytest.Entry("victim", 1))
	if err != nil {
		f.Fatal(err)
	}
	put := &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestPut{RequestPut: &etcdserverpb.PutRequest{Key: []byte(victim), Value: value, Lease: 77}}}
	del := &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestDeleteRange{RequestDeleteRange: &etcdserverpb.DeleteRangeRequest{Key: []byte(victim)}}}
	mark := &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestPut{RequestPut: &etcdserverpb.PutRequest{Key: []byte(marked)}}}
	compares := []*etcdserverpb.Compare{
		{Key: []byte(victim), Target: etcdserverpb.Compare_MOD, TargetUnion: &etcdserverpb.Compare_ModRevision{ModRevision: 5}},
		{Key: []byte(victim), Target: etcdserverpb.Compare_CREATE, TargetUnion: &etcdserverpb.Compare_CreateRevision{}},
		{Key: []byte(victim), Target: etcdserverpb.Compare_LEASE, TargetUnion: &etcdserverpb.Compare_Lease{Lease: 77}},
		{Key: []byte(victim), Target: etcdserverpb.Compare_LEASE, TargetUnion: &etcdserverpb.Compare_ModRevision{ModRevision: 5}},
		{Key: []byte(marked), Target: etcdserverpb.Compare_LEASE},
		{Key: []byte(victim), Target: etcdserverpb.Compare_VERSION, Result: etcdserverpb.Compare_GREATER},
	}
	for _, c := range compares {
		for _, op := range []*etcdserverpb.RequestOp{put, del, mark} {
			within := &etcdserverpb.TxnRequest{Compare: []*etcdserverpb.Compare{c}, Success: []*etcdserverpb.RequestOp{op}}
			turned := &etcdserverpb.TxnRequest{Compare: []*etcdserverpb.Compare{c}, Failure: []*etcdserverpb.RequestOp{op}}
			around := &etcdserverpb.TxnRequest{
				Compare: []*etcdserverpb.Compare{c},
				Failure: []*etcdserverpb.RequestOp{{Request: &etcdserverpb.RequestOp_RequestTxn{RequestTxn: within}}},
			}
			for _, r := range []*etcdserverpb.TxnRequest{within, turned, around} {
				seed, err := proto.Marshal(r)
				if err != nil {
					f.Fatal(err)
				}
				f.Add(seed)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := new(etcdserverpb.TxnRequest)
		if proto.Unmarshal(data, r) != nil {
			return
		}
		g := &Guard{LeaseOf: func(_ context.Context, key []byte) int64 {
			if string(key) == victim {
				return secret
			}
			return -1
		}}
		passed := txn{Guard: g, caller: client{}, shown: make(leases)}
		if passed.check(t.Context(), r, nil, 0) != nil {
			return
		}
		passed.complete()
		if passed.shown[secret] {
			return // it has found the number
		}
		had := store{victim: {"v", secret, 5, 5}, marked: {"m", 0, 2, 2}}
		s := store{victim: had[victim], marked: had[marked]}
		s.apply(r)
		if s[victim] != had[victim] || s[marked] != had[marked] {
			t.Fatalf("got %v after %v, want the entry and the mark as they were", s, r)
		}
	})
}

// What changes too often is refused, and may be changed again in time.
func TestBudget(t *testing.T) {
	var b Budget
	now := time.Unix(1, 0)
	changes := 0
	for b.Spend(1024, now) {
		changes++
	}
	if changes != budgetBytes/1024 {
		t.Errorf("got %d changes of a kilobyte at once, want %d", changes, budgetBytes/1024)
	}
	for range 1000 { // a thousand times a second
		if now = now.Add(time.Millisecond); b.Spend(1024, now) {
			changes++
		}
	}
	if got := changes - budgetBytes/1024; got < budgetSecond/1024-1 || got > budgetSecond/1024 {
		t.Errorf("got %d changes in the second that follows, want about %d", got, budgetSecond/1024)
	}
	if now = now.Add(time.Hour); !b.Spend(budgetBytes, now) || b.Spend(1, now) {
		t.Error("got another budget after an hour, want all of it and no more")
	}
}
