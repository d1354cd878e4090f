// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// from returns a context of a request of a caller, and whether its connection was cut.
func from(ctx context.Context, account string) (context.Context, *bool) {
	cut, ended := new(bool), make(chan struct{})
	at := &Addr{Caller: client{}, Account: account, Ended: ended, Cut: func() {
		if !*cut {
			close(ended)
		}
		*cut = true
	}}
	return peer.NewContext(ctx, &peer.Peer{Addr: at}), cut
}

// bus is a handler for a bus with so many entries of 1 MiB.
func bus(entries int) grpc.UnaryHandler {
	return func(_ context.Context, request any) (any, error) {
		r := request.(*etcdserverpb.RangeRequest)
		if r.CountOnly {
			return &etcdserverpb.RangeResponse{Header: &etcdserverpb.ResponseHeader{Revision: 7}}, nil
		}
		response := &etcdserverpb.RangeResponse{Header: &etcdserverpb.ResponseHeader{Revision: 9}, Count: int64(entries)}
		for i := range entries {
			key := "/tagbus/daq/e/" + strings.Repeat("x", 1+i)
			if key < string(r.Key) {
				continue
			}
			if r.Limit > 0 && len(response.Kvs) == int(r.Limit) {
				response.More = true
				break
			}
			response.Kvs = append(response.Kvs, &mvccpb.KeyValue{Key: []byte(key), Value: make([]byte, 1<<20)})
		}
		return response, nil
	}
}

var wholeBus = &etcdserverpb.RangeRequest{Key: []byte("/tagbus/daq/"), RangeEnd: []byte("/tagbus/daq0")}

// A caller that asks and does not read holds little, keeps no other one waiting, and is cut off.
func TestUnreadAnswersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, info := new(Guard), &grpc.UnaryServerInfo{FullMethod: methodRange}
		greedy, cut := from(t.Context(), "greedy")
		for range 500 {
			go func() { _, _ = g.unary(greedy, wholeBus, info, bus(20)) }()
		}
		synctest.Wait()
		if held := g.answers.held; held == 0 || held > heldForCaller {
			t.Errorf("got %d bytes held for a caller, want some, and at most %d", held, heldForCaller)
		}
		began := time.Now()
		other, _ := from(t.Context(), "other")
		response, err := g.unary(other, wholeBus, info, bus(20))
		if err != nil || time.Since(began) > 0 {
			t.Fatalf("another caller: got %v after %v, want an answer at once", err, time.Since(began))
		}
		if _, err := newWireCodec().Marshal(response); err != nil {
			t.Fatal(err)
		}
		response.(*counted).held.release()
		time.Sleep(patience)
		synctest.Wait()
		if !*cut {
			t.Error("got a connection that stands, want it to be cut since its answers are not taken")
		}
		time.Sleep(2 * patience)
		synctest.Wait()
		if g.answers.held != 0 || len(g.answers.accounts) != 0 {
			t.Errorf("got %d bytes held for %d callers, want none", g.answers.held, len(g.answers.accounts))
		}
	})
}

// All callers together have a bound, too.
func TestUnreadAnswersOfManyCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, info := new(Guard), &grpc.UnaryServerInfo{FullMethod: methodRange}
		for i := range 50 {
			ctx, _ := from(t.Context(), strings.Repeat("x", i))
			for range 5 {
				go func() { _, _ = g.unary(ctx, wholeBus, info, bus(20)) }()
			}
		}
		synctest.Wait()
		if held := g.answers.held; held > heldInAll {
			t.Errorf("got %d bytes held, want at most %d", held, heldInAll)
		}
		time.Sleep(10 * patience)
		synctest.Wait()
		if g.answers.held != 0 {
			t.Errorf("got %d bytes held at the end, want none", g.answers.held)
		}
	})
}

// A read has all that it asks for, of one revision, or says that it is too much.
func TestReadsInSteps(t *testing.T) {
	read := func(limit int64, entries int) (*etcdserverpb.RangeResponse, error) {
		g := new(Guard)
		ctx, _ := from(t.Context(), "a")
		request := &etcdserverpb.RangeRequest{Key: wholeBus.Key, RangeEnd: wholeBus.RangeEnd, Limit: limit}
		response, err := g.unary(ctx, request, &grpc.UnaryServerInfo{FullMethod: methodRange}, bus(entries))
		if err != nil {
			return nil, err
		}
		answer := response.(*counted)
		answer.held.release()
		return answer.message.(*etcdserverpb.RangeResponse), nil
	}
	for _, test := range []struct {
		limit         int64
		entries, want int
		more          bool
	}{{0, 20, 20, false}, {0, 8, 8, false}, {3, 20, 3, true}, {20, 20, 20, false}, {19, 20, 19, true}, {16, 17, 16, true}, {1000, 9, 9, false}} {
		got, err := read(test.limit, test.entries)
		if err != nil || len(got.Kvs) != test.want || got.More != test.more || got.Header.Revision != 7 || got.Count != int64(test.entries) {
			t.Errorf("%d of %d: got %d keys, more: %t, %v, want %d, %t of revision 7", test.limit, test.entries, len(got.GetKvs()), got.GetMore(), err, test.want, test.more)
		}
	}
	if _, err := read(32, 32); status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "--limit") {
		t.Errorf("32 MiB: got %v, want an error that says to ask for less", err)
	}
}
