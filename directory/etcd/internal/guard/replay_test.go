// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/proto"

	"tagbus/directory/etcd/internal/held"
)

// pipe is a stream of a watch, from which a test reads.
type pipe struct {
	grpc.ServerStream
	ctx      context.Context
	requests chan *etcdserverpb.WatchRequest
	sent     []any
}

func (p *pipe) Context() context.Context { return p.ctx }
func (p *pipe) SendMsg(m any) error      { p.sent = append(p.sent, held.MessageOf(m)); return nil }
func (p *pipe) RecvMsg(m any) error {
	proto.Merge(m.(proto.Message), <-p.requests)
	return nil
}

// since is a request to watch from a revision on.
func since(revision int64) *etcdserverpb.WatchRequest {
	return &etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_CreateRequest{CreateRequest: &etcdserverpb.WatchCreateRequest{
		Key: wholeBus.Key, RangeEnd: wholeBus.RangeEnd, StartRevision: revision,
	}}}
}

// piped returns a watch of a caller on a member whose history has MaxReplay bytes from revision 5 on, and
// more from an earlier one on.
func piped(t *testing.T) (*Guard, *watched, *pipe, *held.Conn) {
	t.Helper()
	g := &Guard{History: func(since int64) (int, int64) { return max(0, int(10-since)) * MaxReplay / 5, 9 }}
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	at := &Addr{Caller: client{}, Conn: &held.Conn{Caller: "a", Ended: ended, Cut: func() {}}}
	p := &pipe{ctx: peer.NewContext(t.Context(), &peer.Peer{Addr: at}), requests: make(chan *etcdserverpb.WatchRequest, 9)}
	return g, &watched{counted: &counted{ServerStream: p, guard: g, caller: client{}, at: at.Conn}}, p, at.Conn
}

// A watch from too long ago is answered as after a compaction, and etcd is not told of it.
func TestAWatchFromTooLongAgo(t *testing.T) {
	_, w, p, _ := piped(t)
	p.requests <- since(4)
	p.requests <- since(10)
	got := new(etcdserverpb.WatchRequest)
	if err := w.RecvMsg(got); err != nil || got.GetCreateRequest().GetStartRevision() != 10 {
		t.Fatalf("got %v, %v, want the second request", got, err)
	}
	if len(p.sent) != 1 {
		t.Fatalf("got %d answers, want one", len(p.sent))
	}
	if r := p.sent[0].(*etcdserverpb.WatchResponse); !r.Canceled || r.CompactRevision != 9 {
		t.Errorf("got %v, want a watch that has ended since its history is gone", r)
	}
}

// There is room for what etcd reads for a watch until that is sent, or was nothing.
func TestRoomForAHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, w, p, at := piped(t)
		receive := func() {
			p.requests <- since(5)
			if err := w.RecvMsg(new(etcdserverpb.WatchRequest)); err != nil {
				t.Fatal(err)
			}
		}
		receive()
		receive()
		if g.answers.HasRoom(at, 1) {
			t.Fatal("two histories: got room, want none")
		}
		event := &mvccpb.Event{Kv: &mvccpb.KeyValue{Value: make([]byte, 100)}}
		for _, more := range []bool{true, false} {
			if err := w.SendMsg(&etcdserverpb.WatchResponse{Events: []*mvccpb.Event{event}, Fragment: more}); err != nil {
				t.Fatal(err)
			}
			if g.answers.HasRoom(at, held.ForCaller/4) == more {
				t.Errorf("more events: %t: got room: %t", more, !more)
			}
		}
		<-time.After(2 * settled)
		synctest.Wait()
		if !g.answers.HasRoom(at, held.ForCaller-leastAnswer) {
			t.Error("a history without events: got no room, want it back")
		}
		receive()
		w.replays.end()
		if !g.answers.HasRoom(at, held.ForCaller-leastAnswer) {
			t.Error("a stream that has ended: got no room, want it back")
		}
	})
}
