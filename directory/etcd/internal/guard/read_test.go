// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"tagbus/directory/etcd/internal/held"
)

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

// A read has all that it asks for, of one revision, or says that it is too much.
func TestReadsInSteps(t *testing.T) {
	read := func(limit int64, entries int) (*etcdserverpb.RangeResponse, error) {
		g := new(Guard)
		ended := make(chan struct{})
		defer close(ended)
		at := &Addr{Caller: client{}, Conn: &held.Conn{Caller: "a", Ended: ended}}
		ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: at})
		request := &etcdserverpb.RangeRequest{Key: wholeBus.Key, RangeEnd: wholeBus.RangeEnd, Limit: limit}
		response, err := g.unary(ctx, request, &grpc.UnaryServerInfo{FullMethod: methodRange}, bus(entries))
		if err != nil {
			return nil, err
		}
		return held.MessageOf(response).(*etcdserverpb.RangeResponse), nil
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

// A range that etcd would read as a whole is none of a client, whatever its limit is.
func TestReadsOfAllKeys(t *testing.T) {
	for name, r := range map[string]*etcdserverpb.RangeRequest{
		"by value":          {SortOrder: etcdserverpb.RangeRequest_ASCEND, SortTarget: etcdserverpb.RangeRequest_VALUE},
		"from the last key": {SortOrder: etcdserverpb.RangeRequest_DESCEND},
		"since a revision":  {MinModRevision: 3},
	} {
		r.Key, r.RangeEnd, r.Limit = wholeBus.Key, wholeBus.RangeEnd, 1
		if err := new(Guard).scan(client{}, methodRange, r); status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "sort what it gets") {
			t.Errorf("%s: got %v, want a refusal that says what to do", name, err)
		}
	}
	if err := new(Guard).scan(client{}, methodRange, &etcdserverpb.RangeRequest{Key: wholeBus.Key, RangeEnd: wholeBus.RangeEnd, SortOrder: etcdserverpb.RangeRequest_ASCEND}); err != nil {
		t.Errorf("by key: got %v, want nil", err)
	}
}
