// SPDX-License-Identifier: Apache-2.0

package member_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"tagbus/bus/directory"
	"tagbus/bus/directory/codec"
	"tagbus/bus/directory/directorytest"
	"tagbus/directory/etcd"
	"tagbus/directory/etcd/member"
)

// directory opens a bus of the member as a caller does.
func (g *guarded) directory(t *testing.T, name, bus string) *etcd.Directory {
	t.Helper()
	return opened(t, etcd.Config{Endpoints: []string{g.Clients()}, Prefix: "/tagbus/" + bus + "/", TLS: g.config(t, name)})
}

func opened(t *testing.T, c etcd.Config) *etcd.Directory {
	t.Helper()
	c.RequestTimeout, c.AnnounceTimeout = 20*time.Second, 20*time.Second
	d, err := etcd.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// The names of the callers of the tests: a publisher, another one, and one without any right.
const (
	honest  = "uri:spiffe://cern.ch/daq/felix-1"
	hostile = "uri:spiffe://cern.ch/daq/felix-2"
	nothing = "cn:none"
)

// bytesOf returns an entry as it is stored.
func bytesOf(t *testing.T, e directory.Entry) string {
	t.Helper()
	value, err := codec.Append(nil, e)
	if err != nil {
		t.Fatal(err)
	}
	return string(value)
}

// A directory does on a member with a policy what it does on a server of etcd.
func TestConformanceOfGuardedMember(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, func(c *member.Config) { c.Policy = "" })
	buses := 0
	directorytest.Run(t, func(t *testing.T) directory.Opened {
		t.Helper()
		buses++
		return g.directory(t, honest, fmt.Sprintf("b%d", buses))
	})
}

// What a publisher may do with its own entry, another one may not do with it, whatever it knows of
// it.
func TestEntriesOfOthersStay(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	d := g.directory(t, honest, "daq")
	r := directorytest.Announce(t, d, directorytest.Entry("good", 0x1001))
	attacker := g.client(t, hostile)
	ctx := soon(t)
	const key = "/tagbus/daq/e/good"
	seen, err := attacker.Get(ctx, key)
	if err != nil || len(seen.Kvs) != 1 {
		t.Fatalf("got %v, %v, want the entry, which all may read", seen, err)
	}
	kv := seen.Kvs[0]
	if kv.Lease != 1 {
		t.Errorf("got lease %d, want none that can be named", kv.Lease)
	}
	own, err := attacker.Grant(ctx, 60)
	if err != nil {
		t.Fatal(err)
	}
	forged := directorytest.Entry("good", 0x1001)
	forged.Host = "attacker"
	value := bytesOf(t, forged)
	put := clientv3.OpPut(key, value, clientv3.WithLease(own.ID))
	del := clientv3.OpDelete(key)
	revision := clientv3.Compare(clientv3.ModRevision(key), "=", kv.ModRevision)
	lease := func(op string, id clientv3.LeaseID) clientv3.Cmp {
		return clientv3.Compare(clientv3.LeaseValue(key), op, id)
	}
	tries := map[string]func() error{
		"put":                     func() error { _, err := attacker.Put(ctx, key, value); return err },
		"delete":                  func() error { _, err := attacker.Delete(ctx, key); return err },
		"delete of all":           func() error { _, err := attacker.Delete(ctx, "\x00", clientv3.WithFromKey()); return err },
		"delete of the bus":       func() error { _, err := attacker.Delete(ctx, "/tagbus/daq/", clientv3.WithPrefix()); return err },
		"compaction":              func() error { _, err := attacker.Compact(ctx, kv.ModRevision); return err },
		"revocation of a guess":   func() error { _, err := attacker.Revoke(ctx, clientv3.LeaseID(kv.Lease)); return err },
		"list of leases":          func() error { _, err := attacker.Leases(ctx); return err },
		"keys of a lease":         func() error { _, err := attacker.TimeToLive(ctx, own.ID, clientv3.WithAttachedKeys()); return err },
		"put after a revision":    func() error { return commit(attacker.Txn(ctx).If(revision).Then(put)) },
		"delete after a revision": func() error { return commit(attacker.Txn(ctx).If(revision).Then(del)) },
		"delete by a hidden lease": func() error {
			return commit(attacker.Txn(ctx).If(lease("=", clientv3.LeaseID(kv.Lease))).Then(del))
		},
		"delete by no lease":       func() error { return commit(attacker.Txn(ctx).If(lease("=", 0)).Then(del)) },
		"delete by an own lease":   func() error { return commit(attacker.Txn(ctx).If(lease("=", own.ID)).Then(del)) },
		"search for a lease":       func() error { return commit(attacker.Txn(ctx).If(lease(">", 1<<62))) },
		"another search":           func() error { return commit(attacker.Txn(ctx).If(lease("!=", 5))) },
		"delete in the other case": func() error { return commit(attacker.Txn(ctx).If(lease("=", 5)).Else(del)) },
		"put in the other case":    func() error { return commit(attacker.Txn(ctx).If(lease("=", 5)).Else(put)) },
		"put within":               func() error { return commit(attacker.Txn(ctx).Then(clientv3.OpTxn(nil, []clientv3.Op{put}, nil))) },
		"put within the other case": func() error {
			return commit(attacker.Txn(ctx).If(lease("=", 5)).Else(clientv3.OpTxn(nil, []clientv3.Op{put}, nil)))
		},
		"delete within": func() error { return commit(attacker.Txn(ctx).Then(clientv3.OpTxn(nil, []clientv3.Op{del}, nil))) },
		"delete of a range in a txn": func() error {
			return commit(attacker.Txn(ctx).If(lease("=", own.ID)).Then(clientv3.OpDelete(key, clientv3.WithFromKey())))
		},
		"put that keeps the lease": func() error {
			return commit(attacker.Txn(ctx).Then(clientv3.OpPut(key, value, clientv3.WithIgnoreLease())))
		},
		"put for its old value": func() error {
			return commit(attacker.Txn(ctx).Then(clientv3.OpPut(key, value, clientv3.WithLease(own.ID), clientv3.WithPrevKV())))
		},
		"put without an end": func() error { return commit(attacker.Txn(ctx).If(revision).Then(clientv3.OpPut(key, value))) },
		"put of a new mark":  func() error { return commit(attacker.Txn(ctx).Then(clientv3.OpPut("/tagbus/daq/begun", "x"))) },
		"put of a new mark by lease": func() error {
			return commit(attacker.Txn(ctx).If(clientv3.Compare(clientv3.LeaseValue("/tagbus/daq/begun"), "=", 0)).Then(clientv3.OpPut("/tagbus/daq/begun", "x")))
		},
		"lease of a chosen number": func() error {
			_, err := etcdserverpb.NewLeaseClient(attacker.ActiveConnection()).LeaseGrant(ctx, &etcdserverpb.LeaseGrantRequest{ID: 1, TTL: 60})
			return err
		},
		"lease without an end": func() error { _, err := attacker.Grant(ctx, 1<<40); return err },
		"member":               func() error { _, err := attacker.MemberAdd(ctx, []string{"https://127.0.0.1:1"}); return err },
		"authentication":       func() error { _, err := attacker.AuthEnable(ctx); return err },
	}
	for name, try := range tries {
		if try() == nil {
			t.Errorf("%s: got nil, want a refusal", name)
		}
	}
	seen, err = attacker.Get(ctx, "/tagbus/daq/", clientv3.WithPrefix())
	if err != nil || seen.Count != 2 || string(seen.Kvs[1].Value) != string(kv.Value) || seen.Kvs[1].ModRevision != kv.ModRevision {
		t.Fatalf("got %v, %v, want the mark and the entry as they were", seen, err)
	}
	if err := r.Update(directorytest.Entry("good", 0x1002)); err != nil {
		t.Errorf("its owner: got %v, want to update it", err)
	}
	if err := r.Withdraw(); err != nil {
		t.Errorf("its owner: got %v, want to withdraw it", err)
	}
}

// errDidNothing is the error for a transaction whose comparison failed.
var errDidNothing = errors.New("it did nothing")

// commit returns an error if a transaction is refused, or does nothing.
func commit(txn clientv3.Txn) error {
	response, err := txn.Commit()
	if err != nil {
		return err
	}
	for _, one := range response.Responses {
		if within := one.GetResponseTxn(); within != nil && !within.Succeeded {
			return errDidNothing
		}
	}
	if !response.Succeeded {
		return errDidNothing
	}
	return nil
}

// An entry that no rule covers is kept out, and so is one with a key or a value that is none.
func TestWhatIsNoEntryStaysOut(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	client := g.client(t, hostile)
	ctx := soon(t)
	lease, err := client.Grant(ctx, 60)
	if err != nil {
		t.Fatal(err)
	}
	good := bytesOf(t, directorytest.Entry("x", 0x1001))
	tests := []struct {
		name, key, value, says string
	}{
		{"garbage", "/tagbus/daq/e/x", strings.Repeat("\xff", 1<<20), "is no entry"},
		{"another instance", "/tagbus/daq/e/y", good, "is an entry of x"},
		{"a tag of others", "/tagbus/daq/e/x", bytesOf(t, directorytest.Entry("x", 0x3000)), `add one such as {"who":"` + hostile + `","publish":"0x0000000000003000"}`},
		{"a name with a slash", "/tagbus/daq/e/x/y", good, "no such key"},
		{"bytes that are no text", "/tagbus/daq/e/\x00\xff", good, "no such key"},
		{"another key of the bus", "/tagbus/daq/other", good, "no such key"},
		{"no bus", "/tagbus//e/x", good, "no such key"},
		{"the root", "/tagbus/", good, "no such key"},
		{"another prefix", "/registry/x", good, "no such key"},
		{"no key", "", good, "no such key"},
	}
	for _, test := range tests {
		put := clientv3.OpPut(test.key, test.value, clientv3.WithLease(lease.ID))
		if _, err := client.Txn(ctx).Then(put).Commit(); err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "\x00") {
			t.Errorf("%s: got %v, want %q", test.name, err, test.says)
		}
	}
	two := []clientv3.Op{clientv3.OpPut("/tagbus/daq/e/x", good, clientv3.WithLease(lease.ID)), clientv3.OpPut("/tagbus/daq/e/y", bytesOf(t, directorytest.Entry("y", 0x1001)), clientv3.WithLease(lease.ID))}
	if _, err := client.Txn(ctx).Then(two...).Commit(); err == nil || !strings.Contains(err.Error(), "more than one entry") {
		t.Errorf("two entries: got %v, want a refusal", err)
	}
	// A client of an earlier release asks for the revision alone.
	made, err := client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision("/tagbus/daq/e/x"), "=", 0)).Then(two[0]).Commit()
	if err != nil || !made.Succeeded {
		t.Fatalf("a first entry: got %v, %v, want it stored", made, err)
	}
	last := clientv3.Compare(clientv3.ModRevision("/tagbus/daq/e/x"), "=", made.Header.Revision)
	if err := commit(client.Txn(ctx).If(last).Then(two[0])); err != nil {
		t.Errorf("an update by the revision alone: got %v, want nil", err)
	}
	if _, err := g.directory(t, nothing, "daq").Announce(directorytest.Entry("n", 0x1001)); err == nil || !strings.Contains(err.Error(), "cn:none") {
		t.Errorf("a publisher without a right: got %v, want an error that names it", err)
	}
	if _, err := g.directory(t, hostile, "daq").Announce(directorytest.Entry("h", 0x1001, 0x3000)); err != nil {
		t.Errorf("an entry that is covered in part: got %v, want it to be taken: readers take what is covered", err)
	}
}

// Each bus is read by itself, and nothing beside the buses is read at all.
func TestRangesEndWithTheBus(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	client := g.client(t, nothing)
	ctx := soon(t)
	bad := []clientv3.Op{
		clientv3.OpGet("\x00", clientv3.WithFromKey()), clientv3.OpGet("/tagbus/daq/", clientv3.WithFromKey()), clientv3.OpGet("/tagbus/", clientv3.WithPrefix()),
		clientv3.OpGet("/tagbus/daq/", clientv3.WithRange("/tagbus/daq1")), clientv3.OpGet("/tagbus/daq/e/x", clientv3.WithRange("/tagbus/daq/a")),
		clientv3.OpGet("/tagbus/daq"), clientv3.OpGet("/tagbus//"), clientv3.OpGet("/tagbus/../x"), clientv3.OpGet("other"), clientv3.OpGet("/tagbus/a\xff/x"),
	}
	for i, op := range bad {
		if _, err := client.Do(ctx, op); err == nil || !strings.Contains(err.Error(), "keys of one bus") {
			t.Errorf("range %d: got %v, want a refusal", i, err)
		}
		if _, err := client.Txn(ctx).Then(op).Commit(); err == nil {
			t.Errorf("range %d in a transaction: got nil, want a refusal", i)
		}
		watching, cancel := context.WithCancel(ctx)
		options := []clientv3.OpOption{}
		if end := op.RangeBytes(); len(end) > 0 {
			options = append(options, clientv3.WithRange(string(end)))
		}
		for r := range client.Watch(watching, string(op.KeyBytes()), options...) {
			if r.Err() == nil {
				t.Errorf("watch %d: got %v, want a refusal", i, r)
			}
		}
		cancel()
	}
	for _, op := range []clientv3.Op{clientv3.OpGet("/tagbus/daq/", clientv3.WithPrefix()), clientv3.OpGet("/tagbus/daq/begun"), clientv3.OpGet("/tagbus/daq/", clientv3.WithRange("/tagbus/daq/x/"))} {
		if _, err := client.Do(ctx, op); err != nil {
			t.Errorf("a look at a bus: got %v, want nil", err)
		}
	}
}

// What a watch tells has no lease.
func TestAWatchShowsNoLease(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	ctx := soon(t)
	watch := g.client(t, nothing).Watch(ctx, "/tagbus/daq/", clientv3.WithPrefix(), clientv3.WithPrevKV(), clientv3.WithCreatedNotify())
	if r := <-watch; !r.Created {
		t.Fatalf("got %v, want a watch", r)
	}
	d := g.directory(t, honest, "daq")
	r := directorytest.Announce(t, d, directorytest.Entry("p", 0x1001))
	if err := r.Update(directorytest.Entry("p", 0x1002)); err != nil {
		t.Fatal(err)
	}
	for updates := 0; updates < 2; {
		for _, e := range (<-watch).Events {
			if !strings.HasSuffix(string(e.Kv.Key), "/e/p") {
				continue
			}
			if updates++; e.Kv.Lease != 1 || e.PrevKv != nil && e.PrevKv.Lease != 1 {
				t.Errorf("got %v, want no lease that can be named", e)
			}
		}
	}
}
