// SPDX-License-Identifier: Apache-2.0

package member_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"tagbus/bus/directory/directorytest"
	"tagbus/internal/testkit"
	"tagbus/tags"
)

// mostUnread is how much memory the answers may take, with what the collector leaves, of this process: as much
// again as a member holds of all callers, and as much again for the members themselves and the attackers.
const mostUnread = 640 << 20

// peakHeap returns how much memory this process uses at most while a function runs.
func peakHeap(do func()) uint64 {
	done, peak := make(chan struct{}), make(chan uint64)
	go func() {
		most := uint64(0)
		for {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapInuse)
			select {
			case <-done:
				peak <- most
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	do()
	close(done)
	return <-peak
}

// deaf returns a connection of a caller that makes streams whose answers are not read.
func (g *guarded) deaf(t *testing.T, name string) *grpc.ClientConn {
	t.Helper()
	return dialled(t, clientv3.Config{
		Endpoints: []string{"https://" + g.Clients()}, TLS: g.config(t, name),
		DialOptions: []grpc.DialOption{grpc.WithInitialWindowSize(64 << 10), grpc.WithInitialConnWindowSize(64 << 10)},
	}).ActiveConnection()
}

// ask makes a stream, and sends requests without an end, or so many.
func ask(ctx context.Context, c *grpc.ClientConn, method string, request proto.Message, times int) {
	stream, err := c.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method, grpc.MaxCallRecvMsgSize(1<<30))
	for ; err == nil && times > 0; times-- {
		err = stream.SendMsg(request)
	}
	if err == nil {
		_ = stream.CloseSend()
	}
}

// large announces entries of a megabyte, about.
func (g *guarded) large(t *testing.T, many int) {
	t.Helper()
	client := g.client(t, hostile)
	lease, err := client.Grant(soon(t), 3600)
	if err != nil {
		t.Fatal(err)
	}
	for i := range many {
		e := directorytest.Entry(fmt.Sprintf("large%d", i), 0x1001)
		scattered := make([]tags.Tag, 130_000)
		for j, x := 0, uint64(i+1); j < len(scattered); j++ {
			x ^= x << 13
			x ^= x >> 7
			x ^= x << 17
			scattered[j] = tags.Tag(x)
		}
		e.Tags = tags.Of(append(scattered, 0x1001)...)
		key := "/tagbus/daq/e/" + e.Instance
		put := clientv3.OpPut(key, bytesOf(t, e), clientv3.WithLease(lease.ID))
		if err := commit(client.Txn(soon(t)).If(clientv3.Compare(clientv3.CreateRevision(key), "=", 0)).Then(put)); err != nil {
			t.Fatal(err)
		}
	}
}

// Callers that ask for more than they read take little of a member, and keep no other one waiting for long.
func TestUnreadAnswersAreBounded(t *testing.T) {
	const connections = 3
	streams := testkit.Fewer(80)
	g := startGuarded(t)
	g.large(t, 15)
	from, to := []byte("/tagbus/daq/"), []byte("/tagbus/daq0")
	watch := func(since int64, previous bool) *etcdserverpb.WatchRequest {
		return &etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_CreateRequest{CreateRequest: &etcdserverpb.WatchCreateRequest{Key: from, RangeEnd: to, StartRevision: since, PrevKv: previous}}}
	}
	for _, test := range []struct {
		name, method string
		request      proto.Message
		times        int
	}{
		{"reads of a bus", etcdserverpb.KV_Range_FullMethodName, &etcdserverpb.RangeRequest{Key: from, RangeEnd: to}, 1},
		{"reads of what a member knows", etcdserverpb.KV_Range_FullMethodName, &etcdserverpb.RangeRequest{Key: from, RangeEnd: to, Serializable: true}, 1},
		{"reads of an entry", etcdserverpb.KV_Range_FullMethodName, &etcdserverpb.RangeRequest{Key: []byte("/tagbus/daq/e/large0")}, 1},
		{"transactions", etcdserverpb.KV_Txn_FullMethodName, &etcdserverpb.TxnRequest{Success: []*etcdserverpb.RequestOp{{Request: &etcdserverpb.RequestOp_RequestRange{RequestRange: &etcdserverpb.RangeRequest{Key: []byte("/tagbus/daq/e/large0")}}}}}, 1},
		{"watches", etcdserverpb.Watch_Watch_FullMethodName, watch(1, false), 32},
		{"watches of what was before", etcdserverpb.Watch_Watch_FullMethodName, watch(1, true), 32},
		{"questions how far a watch is", etcdserverpb.Watch_Watch_FullMethodName, &etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_ProgressRequest{ProgressRequest: &etcdserverpb.WatchProgressRequest{}}}, 500},
		{"signs of life", etcdserverpb.Lease_LeaseKeepAlive_FullMethodName, &etcdserverpb.LeaseKeepAliveRequest{ID: 5}, 500},
	} {
		t.Run(test.name, func(t *testing.T) {
			reader := g.client(t, honest)
			ctx, cancel := context.WithCancel(t.Context())
			var asking sync.WaitGroup
			var slowest time.Duration
			peak := peakHeap(func() {
				for range connections {
					c := g.deaf(t, hostile)
					for range streams {
						asking.Go(func() { ask(ctx, c, test.method, test.request, test.times) })
					}
				}
				for range 5 {
					began := time.Now()
					found, err := reader.Get(soon(t), string(from), clientv3.WithRange(string(to)), clientv3.WithLimit(4))
					if err != nil || len(found.Kvs) == 0 {
						t.Errorf("a caller that reads: got %v, want entries", err)
						break
					}
					slowest = max(slowest, time.Since(began))
				}
			})
			t.Logf("%d MiB, and the slowest read took %v", peak>>20, slowest)
			if peak > mostUnread {
				t.Errorf("got %d MiB, want %d at most", peak>>20, mostUnread>>20)
			}
			cancel()
			asking.Wait()
		})
	}
}

// A watch that begins before more than is told ends as one whose history is compacted: its client looks at
// the entries. One that begins before less gets all of it.
func TestALongHistoryIsNotReplayed(t *testing.T) {
	t.Parallel()
	g := startGuarded(t)
	g.large(t, 20)
	client := g.client(t, nothing)
	count := func(options ...clientv3.OpOption) (events int, err error) {
		ctx, cancel := context.WithCancel(soon(t))
		defer cancel()
		for r := range client.Watch(ctx, "/tagbus/daq/", append(options, clientv3.WithPrefix(), clientv3.WithRev(1))...) {
			if r.Err() != nil {
				return events, r.Err()
			}
			if events += len(r.Events); events == 20 {
				return events, nil
			}
		}
		return events, nil
	}
	if events, err := count(); events != 20 || err != nil {
		t.Errorf("got %d events, %v, want 20", events, err)
	}
	if events, err := count(clientv3.WithFragment()); events != 20 || err != nil {
		t.Errorf("in fragments: got %d events, %v, want 20", events, err)
	}
	if events, err := count(clientv3.WithPrevKV()); events != 0 || err == nil || !strings.Contains(err.Error(), "compacted") {
		t.Errorf("with what was before: got %d events, %v, want that it is compacted", events, err)
	}
}
