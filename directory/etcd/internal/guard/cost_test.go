// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"tagbus/acl"
	"tagbus/bus/directory/codec"
	"tagbus/bus/directory/directorytest"
	"tagbus/identity"
	"tagbus/tags"
)

// payer is a client that notes what it pays.
type payer struct {
	client
	paid int
}

func (p *payer) Spend(bytes int, _ time.Time) bool {
	p.paid += bytes
	return true
}

// powerless is a policy that lets no caller do anything.
type powerless struct{}

func (powerless) Split(_ identity.Principal, _ acl.Action, asked tags.Set) (may, mayNot tags.Set) {
	return tags.Set{}, asked
}
func (powerless) Allowed(identity.Principal, acl.Action) tags.Set { return tags.Set{} }

func read(r *etcdserverpb.RangeRequest) *etcdserverpb.RequestOp {
	return &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestRange{RequestRange: r}}
}

func within(r *etcdserverpb.TxnRequest) *etcdserverpb.RequestOp {
	return &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestTxn{RequestTxn: r}}
}

func write(r *etcdserverpb.PutRequest) *etcdserverpb.RequestOp {
	return &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestPut{RequestPut: r}}
}

func remove(key string) *etcdserverpb.RequestOp {
	return &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestDeleteRange{RequestDeleteRange: &etcdserverpb.DeleteRangeRequest{Key: []byte(key)}}}
}

// proposal is a request that the members write to their disks.
type proposal struct {
	name, method string
	request      proto.Message
	changes      int
}

// proposals returns requests of which each is let pass for a caller that may announce.
func proposals(t *testing.T) []proposal {
	t.Helper()
	value, err := codec.Append(nil, directorytest.Entry("own", 1))
	if err != nil {
		t.Fatal(err)
	}
	long := &etcdserverpb.Compare{
		Key: []byte(victim), Target: etcdserverpb.Compare_VALUE, TargetUnion: &etcdserverpb.Compare_Value{Value: make([]byte, 1<<20)},
	}
	invented := &etcdserverpb.Compare{Key: []byte(victim), Target: etcdserverpb.Compare_LEASE, TargetUnion: &etcdserverpb.Compare_Lease{Lease: 77}}
	put := write(&etcdserverpb.PutRequest{Key: []byte("/tagbus/daq/e/own"), Value: value, Lease: 77})
	empty := within(&etcdserverpb.TxnRequest{})
	del := &etcdserverpb.TxnRequest{Compare: []*etcdserverpb.Compare{invented}, Success: []*etcdserverpb.RequestOp{remove(victim)}}
	return []proposal{
		{"long comparison", methodTxn, &etcdserverpb.TxnRequest{Compare: []*etcdserverpb.Compare{long}, Success: []*etcdserverpb.RequestOp{empty}}, 1},
		{"long comparison, and failure", methodTxn, &etcdserverpb.TxnRequest{Compare: []*etcdserverpb.Compare{long}, Failure: []*etcdserverpb.RequestOp{empty}}, 1},
		{"long comparison, and an entry", methodTxn, &etcdserverpb.TxnRequest{Compare: []*etcdserverpb.Compare{long}, Success: []*etcdserverpb.RequestOp{put}}, 1},
		{"delete with an invented lease", methodTxn, del, 1},
		{"the same within", methodTxn, &etcdserverpb.TxnRequest{Success: []*etcdserverpb.RequestOp{within(del)}}, 2},
		{"end of an invented lease", methodRevoke, &etcdserverpb.LeaseRevokeRequest{ID: 77}, 1},
	}
}

// What the members write is paid for, also if it changes nothing.
func TestProposalsArePaid(t *testing.T) {
	for _, p := range proposals(t) {
		g := &Guard{LeaseOf: func(context.Context, []byte) int64 { return -1 }}
		c := new(payer)
		want := proto.Size(p.request) + p.changes*changeBytes
		if _, err := g.check(t.Context(), c, p.method, p.request); err != nil || c.paid != want {
			t.Errorf("%s: got %d bytes paid, %v, want %d", p.name, c.paid, err, want)
		}
	}
}

// Nothing is written for a caller that may announce nothing, and its reads are free.
func TestProposalsNeedARight(t *testing.T) {
	g := &Guard{Access: powerless{}}
	for _, p := range proposals(t) {
		c := new(payer)
		if _, err := g.check(t.Context(), c, p.method, p.request); status.Code(err) != codes.PermissionDenied || c.paid != 0 {
			t.Errorf("%s: got %v and %d bytes paid, want a refusal", p.name, err, c.paid)
		}
	}
	c := new(payer)
	look := &etcdserverpb.TxnRequest{Success: []*etcdserverpb.RequestOp{read(&etcdserverpb.RangeRequest{Key: []byte(victim)})}}
	if _, err := g.check(t.Context(), c, methodTxn, look); err != nil || c.paid != 0 {
		t.Errorf("a look: got %v and %d bytes paid, want it free", err, c.paid)
	}
}

// A transaction reads some keys, and one value: else its answer has many times the bytes of it.
func TestTransactionsReadLittle(t *testing.T) {
	key := []byte(victim)
	value, alone := read(&etcdserverpb.RangeRequest{Key: key}), read(&etcdserverpb.RangeRequest{Key: key, KeysOnly: true})
	bus := read(&etcdserverpb.RangeRequest{Key: []byte("/tagbus/daq/"), RangeEnd: []byte("/tagbus/daq0"), KeysOnly: true})
	tests := []struct {
		name      string
		steps     []*etcdserverpb.RequestOp
		otherwise []*etcdserverpb.RequestOp
		says      string
	}{
		{"a value", []*etcdserverpb.RequestOp{value}, nil, ""},
		{"many keys, and a value", []*etcdserverpb.RequestOp{alone, alone, alone, value}, nil, ""},
		{"two values", []*etcdserverpb.RequestOp{value, value}, nil, "more than one value"},
		{"a value in each case", []*etcdserverpb.RequestOp{value}, []*etcdserverpb.RequestOp{value}, "more than one value"},
		{"a bus", []*etcdserverpb.RequestOp{bus}, nil, "several keys at once"},
		{"a key within", nil, []*etcdserverpb.RequestOp{within(&etcdserverpb.TxnRequest{Success: []*etcdserverpb.RequestOp{alone}})}, "within another"},
	}
	for _, test := range tests {
		_, err := new(Guard).check(t.Context(), client{}, methodTxn, &etcdserverpb.TxnRequest{Success: test.steps, Failure: test.otherwise})
		if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.says)
		}
	}
}

// A transaction that etcd refuses for its length is refused before it takes time.
func TestLongTransactions(t *testing.T) {
	compares, steps := make([]*etcdserverpb.Compare, maxSteps+1), make([]*etcdserverpb.RequestOp, maxSteps+1)
	for i := range compares {
		compares[i] = &etcdserverpb.Compare{Key: []byte(victim)}
		steps[i] = read(&etcdserverpb.RangeRequest{Key: []byte(victim), KeysOnly: true})
	}
	for name, r := range map[string]*etcdserverpb.TxnRequest{
		"comparisons": {Compare: compares}, "steps": {Success: steps}, "steps otherwise": {Failure: steps},
		"steps within": {Success: []*etcdserverpb.RequestOp{within(&etcdserverpb.TxnRequest{Compare: compares})}},
	} {
		if _, err := new(Guard).check(t.Context(), client{}, methodTxn, r); err == nil || !strings.Contains(err.Error(), "more than 128") {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
	if _, err := new(Guard).check(t.Context(), client{}, methodTxn, &etcdserverpb.TxnRequest{Compare: compares[1:], Success: steps[1:], Failure: steps[1:]}); err != nil {
		t.Errorf("as many as may be: got %v, want nil", err)
	}
}
