// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"fmt"
	"maps"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/protobuf/proto"

	"tagbus/acl"
	"tagbus/bus/directory/codec"
	"tagbus/internal/sanitize"
)

const (
	maxDepth = 2   // of transactions within each other
	maxSteps = 128 // and comparisons of a transaction, as etcd has it
	maxMark  = 256 // bytes of a value that is no entry
)

// proof is what must hold for a part of a transaction to be done: the lease that each of some
// keys has, 0 for none, or that it does not exist.
type proof map[string]int64

const absent = -1 // in the place of a lease

// txn is the check of one transaction.
type txn struct {
	*Guard
	caller  Caller
	shown   leases
	entries int // that it writes
	values  int // that it reads
	missing []missing
}

// missing is a comparison that a transaction needs.
type missing struct {
	in *etcdserverpb.TxnRequest
	is *etcdserverpb.Compare
}

// complete adds what is missing.
func (t *txn) complete() {
	for _, m := range t.missing {
		m.in.Compare = append(m.in.Compare, m.is)
	}
}

// let returns nil if a client may make a transaction and pays for it, and completes it.
func (t *txn) let(ctx context.Context, r *etcdserverpb.TxnRequest) error {
	if n := changes(r, 0); n > 0 {
		if err := t.propose(t.caller, methodTxn, proto.Size(r)+n*changeBytes); err != nil {
			return err
		}
	}
	if err := t.check(ctx, r, nil, 0); err != nil {
		return err
	}
	t.complete()
	return nil
}

// check returns nil if a transaction is one that a client may make, and notes which comparisons
// are missing that keep the entries of others.
//
//   - held: what holds where the transaction stands.
func (t *txn) check(ctx context.Context, r *etcdserverpb.TxnRequest, held proof, depth int) error {
	if depth >= maxDepth {
		return t.refuse("transactions are within each other")
	}
	if len(r.GetCompare()) > maxSteps || len(r.GetSuccess()) > maxSteps || len(r.GetFailure()) > maxSteps {
		return t.refuse("it has more than 128 comparisons or steps")
	}
	proven := maps.Clone(held)
	if proven == nil {
		proven = make(proof)
	}
	for _, c := range r.Compare {
		if err := t.compare(c, proven); err != nil {
			return err
		}
	}
	for _, op := range r.Success {
		if err := t.op(ctx, op, r, proven, depth); err != nil {
			return err
		}
	}
	for _, op := range r.Failure {
		if op.GetRequestPut() != nil {
			return t.refuse("it writes in case that a comparison fails")
		}
		if err := t.op(ctx, op, r, held, depth); err != nil {
			return err
		}
	}
	return nil
}

// compare notes what a comparison proves. One that tells more of a lease than whether the
// caller knows it is refused.
func (t *txn) compare(c *etcdserverpb.Compare, proven proof) error {
	if err := t.inBus(t.caller, methodTxn, c.Key, nil); err != nil {
		return err
	}
	if len(c.RangeEnd) > 0 {
		return t.refuse("it compares several keys at once")
	}
	equal := c.Result == etcdserverpb.Compare_EQUAL
	switch {
	case c.Target == etcdserverpb.Compare_LEASE && !equal:
		return t.refuse("it compares a lease for something else than equality")
	case c.Target == etcdserverpb.Compare_LEASE:
		if lease := c.GetLease(); lease > hidden {
			t.shown[lease] = true
		}
		proven[string(c.Key)] = c.GetLease()
	case c.Target == etcdserverpb.Compare_CREATE && equal && c.GetCreateRevision() == 0,
		c.Target == etcdserverpb.Compare_VERSION && equal && c.GetVersion() == 0:
		proven[string(c.Key)] = absent
	}
	return nil
}

// op returns nil if one step of a transaction is one that a client may take.
func (t *txn) op(ctx context.Context, op *etcdserverpb.RequestOp, in *etcdserverpb.TxnRequest, proven proof, depth int) error {
	switch r := op.GetRequest().(type) {
	case *etcdserverpb.RequestOp_RequestRange:
		return t.read(r.RequestRange, depth)
	case *etcdserverpb.RequestOp_RequestPut:
		return t.put(ctx, r.RequestPut, in, proven)
	case *etcdserverpb.RequestOp_RequestDeleteRange:
		return t.remove(r.RequestDeleteRange, proven)
	case *etcdserverpb.RequestOp_RequestTxn:
		if r.RequestTxn != nil {
			return t.check(ctx, r.RequestTxn, proven, depth+1)
		}
	}
	return t.refuse("it has a step that is not known")
}

// read is op for a key that is read. The answer to many ranges, or to many reads of one long value,
// has any number of times the bytes of the request.
func (t *txn) read(r *etcdserverpb.RangeRequest, depth int) error {
	switch {
	case depth > 0:
		return t.refuse("it reads in a transaction within another")
	case len(r.GetRangeEnd()) > 0:
		return t.refuse("it reads several keys at once")
	}
	if !r.GetKeysOnly() {
		t.values++
	}
	if t.values > 1 {
		return t.refuse("it reads more than one value")
	}
	return t.inBus(t.caller, methodTxn, r.GetKey(), nil)
}

// put is op for a key that is written.
func (t *txn) put(ctx context.Context, r *etcdserverpb.PutRequest, in *etcdserverpb.TxnRequest, proven proof) error {
	if r.GetPrevKv() || r.GetIgnoreLease() || r.GetIgnoreValue() {
		return t.refuse("it writes with options")
	}
	at, ok := placeOf(r.GetKey())
	switch {
	case !ok:
		return t.refuse("a bus has no such key: " + sanitize.Text(sanitize.Cut(string(r.GetKey()), maxMark)))
	case at.instance == "":
		return t.mark(at, r, proven)
	}
	if r.Lease <= hidden {
		return t.refuse("an entry needs a lease, with which it ends")
	}
	if t.entries++; t.entries > 1 {
		return t.refuse("it writes more than one entry") // each takes time to look at
	}
	if err := t.entry(at, r.Value); err != nil {
		return err
	}
	t.shown[r.Lease] = true
	if _, ok := proven[string(r.Key)]; ok {
		return nil
	}
	// Clients of before this guard ask for the revision alone.
	lease := r.Lease
	if t.LeaseOf(ctx, r.Key) == 0 {
		lease = 0
	}
	t.missing = append(t.missing, missing{in, &etcdserverpb.Compare{
		Key: r.Key, Target: etcdserverpb.Compare_LEASE, Result: etcdserverpb.Compare_EQUAL, TargetUnion: &etcdserverpb.Compare_Lease{Lease: lease},
	}})
	return nil
}

// mark is put for a key that is no entry: that something was withdrawn, and the mark of data
// that begins again, which nothing replaces.
func (t *txn) mark(at place, r *etcdserverpb.PutRequest, proven proof) error {
	switch {
	case !t.announces(t.caller, at.actions()):
		return t.refuse(noRule)
	case r.Lease != 0 || len(r.Value) > maxMark:
		return t.refuse("it is longer than it need be, or has a lease")
	case at.name == epoch && proven[string(r.GetKey())] != absent:
		return t.refuse("it replaces the mark of the data")
	}
	return nil
}

// entry returns nil if a value is an entry that the caller may announce at a place.
func (t *txn) entry(at place, value []byte) error {
	if !t.announces(t.caller, at.actions()) {
		return t.refuse(noRule)
	}
	e, err := codec.Decode(value)
	switch {
	case err != nil:
		return t.refuse(fmt.Sprintf("the value for %s is no entry: %v", at.instance, err))
	case e.Instance != at.instance:
		return t.refuse(fmt.Sprintf("the value for %s is an entry of %s", at.instance, sanitize.Text(e.Instance)))
	case t.Access == nil:
		return nil
	}
	action, known := at.action(e.Role)
	if !known || e.Tags.IsEmpty() { // the tags of a role that is not known mean nothing here
		return nil
	}
	// Readers take of an entry what the policy covers, so that some of the tags are enough.
	may, mayNot := t.Access.Split(t.caller.Principal(), action, e.Tags)
	if may.IsEmpty() {
		const most = 200
		text, _ := mayNot.Short(most)
		return t.refuse(fmt.Sprintf("no rule of the policy lets it %s: add one such as %s", action.With(text), acl.Missing(t.caller.Principal(), action, text)))
	}
	return nil
}

// remove is op for a key that is deleted.
func (t *txn) remove(r *etcdserverpb.DeleteRangeRequest, proven proof) error {
	at, ok := placeOf(r.GetKey())
	if !ok || at.instance == "" || len(r.GetRangeEnd()) > 0 || r.GetPrevKv() {
		return t.refuse("it deletes something else than one entry")
	}
	if proven[string(r.GetKey())] <= hidden {
		return t.refuse("it deletes an entry whose lease it does not name: only the process that announced one may, and an administrator")
	}
	return nil
}

// refuse returns the error for a transaction.
func (t *txn) refuse(why string) error { return t.Guard.refuse(t.caller, methodTxn, why) }
