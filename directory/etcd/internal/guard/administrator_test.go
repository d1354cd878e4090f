// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"net"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"tagbus/identity"
)

// operator is an administrator with a certificate.
type operator struct{ client }

func (operator) Rank() Rank { return Administrator }
func (operator) Principal() identity.Principal {
	p, _ := identity.NewPrincipal("cn:operator")
	return p
}

func calledBy(ctx context.Context, c Caller) context.Context {
	return peer.NewContext(ctx, &peer.Peer{Addr: &Addr{Addr: &net.TCPAddr{}, Caller: c}})
}

// An administrator sees what there is, and makes the request that it makes, also if a client may make
// it as well.
func TestAnAdministratorIsNoClient(t *testing.T) {
	g := &Guard{LeaseOf: func(context.Context, []byte) int64 { return secret }}
	ctx := calledBy(t.Context(), operator{})
	answer := func(context.Context, any) (any, error) {
		return &etcdserverpb.RangeResponse{Kvs: []*mvccpb.KeyValue{{Key: []byte(victim), Lease: secret}}}, nil
	}
	look := &etcdserverpb.RangeRequest{Key: []byte(victim)}
	got, err := g.unary(ctx, look, &grpc.UnaryServerInfo{FullMethod: methodRange}, answer)
	if err != nil || got.(*etcdserverpb.RangeResponse).Kvs[0].Lease != secret {
		t.Errorf("a look: got %v, %v, want the lease", got, err)
	}
	for _, p := range proposals(t) {
		if p.method != methodTxn {
			continue
		}
		before := proto.Clone(p.request)
		_, err := g.unary(ctx, p.request, &grpc.UnaryServerInfo{FullMethod: methodTxn}, func(context.Context, any) (any, error) { return nil, nil })
		if err != nil || !proto.Equal(before, p.request) {
			t.Errorf("%s: got %v and another request, want it as it was", p.name, err)
		}
	}
}

// An administrator may announce, too: others do not guess the number of its lease.
func TestLeasesOfAdministrators(t *testing.T) {
	for id, want := range map[int64]bool{0: false, 5: true} {
		r := &etcdserverpb.LeaseGrantRequest{ID: id, TTL: 60}
		_, err := new(Guard).unary(calledBy(t.Context(), operator{}), r, &grpc.UnaryServerInfo{FullMethod: methodGrant}, func(context.Context, any) (any, error) { return nil, nil })
		if err != nil || r.ID <= hidden || (r.ID == id) != want {
			t.Errorf("lease %d: got %d, %v, want its own choice, or one of the member", id, r.ID, err)
		}
	}
}

// streamOf is the stream of one caller.
type streamOf struct {
	grpc.ServerStream
	ctx  context.Context
	sent any
}

func (s *streamOf) Context() context.Context    { return s.ctx }
func (s *streamOf) SetHeader(metadata.MD) error { return nil }
func (s *streamOf) RecvMsg(any) error           { return nil }
func (s *streamOf) SendMsg(message any) error   { s.sent = message; return nil }

// What is no request of a watch is refused, and an administrator sees the leases of what it watches.
func TestWatchesOfOtherTypes(t *testing.T) {
	g := new(Guard)
	event := &etcdserverpb.WatchResponse{Events: []*mvccpb.Event{{Kv: &mvccpb.KeyValue{Lease: secret}}}}
	watch := func(c Caller, message any) (lease int64, err error) {
		s := &streamOf{ctx: calledBy(t.Context(), c)}
		err = g.stream(nil, s, &grpc.StreamServerInfo{FullMethod: methodWatch}, func(_ any, s grpc.ServerStream) error {
			if err := s.RecvMsg(message); err != nil {
				return err
			}
			return s.SendMsg(event)
		})
		if s.sent != nil {
			lease = s.sent.(*etcdserverpb.WatchResponse).Events[0].Kv.Lease
		}
		return lease, err
	}
	own := &etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_CreateRequest{CreateRequest: &etcdserverpb.WatchCreateRequest{Key: []byte(victim)}}}
	if lease, err := watch(client{}, own); err != nil || lease != hidden {
		t.Errorf("a client: got lease %d, %v, want none that can be named", lease, err)
	}
	if lease, err := watch(operator{}, own); err != nil || lease != secret {
		t.Errorf("an administrator: got lease %d, %v, want that of the entry", lease, err)
	}
	if _, err := watch(client{}, new(etcdserverpb.CompactionRequest)); status.Code(err) != codes.PermissionDenied {
		t.Errorf("another type: got %v, want a refusal", err)
	}
}
