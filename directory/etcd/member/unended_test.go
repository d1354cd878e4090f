// SPDX-License-Identifier: Apache-2.0

package member_test

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// mostUnended is how much memory requests may take that are not at their end, with what the collector
// leaves, of this process.
const mostUnended = 320 << 20

// halting is a connection on which so many bytes are sent, and then no more.
type halting struct {
	net.Conn
	left  *atomic.Int64
	until <-chan struct{}
}

// Write writes, or waits for the end.
func (h halting) Write(b []byte) (int, error) {
	if h.left.Add(-int64(len(b))) < 0 {
		<-h.until
		return 0, net.ErrClosed
	}
	return h.Conn.Write(b)
}

// fixed is a codec that sends the same bytes for each message, which it does not copy.
type fixed struct {
	encoding.CodecV2
	message []byte
}

// Marshal implements encoding.CodecV2.
func (f fixed) Marshal(any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(f.message)}, nil
}

// halt returns a connection of a caller that sends so many bytes.
func (g *guarded) halt(ctx context.Context, t *testing.T, name string, message []byte, bytes int64) *grpc.ClientConn {
	t.Helper()
	left := new(atomic.Int64)
	left.Store(bytes)
	c, err := grpc.NewClient("passthrough:///"+g.Clients(), grpc.WithTransportCredentials(credentials.NewTLS(g.config(t, name))),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(fixed{encoding.GetCodecV2("proto"), message})),
		grpc.WithContextDialer(func(ctx2 context.Context, at string) (net.Conn, error) {
			raw, err := new(net.Dialer).DialContext(ctx2, "tcp", at)
			return halting{raw, left, ctx.Done()}, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// requestOf returns a request to read a key of so many bytes.
func requestOf(t *testing.T, bytes int) []byte {
	t.Helper()
	key := append([]byte("/tagbus/daq/e/"), make([]byte, bytes)...)
	message, err := proto.Marshal(&etcdserverpb.RangeRequest{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return message
}

// Callers that begin requests and do not end them take little of a member, and keep no other one waiting for
// long.
func TestUnendedRequestsAreBounded(t *testing.T) {
	const connections, streams, size = 5, 120, 1 << 20
	g := startGuarded(t)
	message := requestOf(t, size)
	for _, test := range []struct {
		name, method string
	}{
		{"reads", etcdserverpb.KV_Range_FullMethodName},
		{"watches", etcdserverpb.Watch_Watch_FullMethodName},
	} {
		t.Run(test.name, func(t *testing.T) {
			client := g.client(t, honest)
			if _, err := client.Get(soon(t), "/tagbus/daq/", clientv3.WithLimit(1)); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var asking sync.WaitGroup
			var slowest time.Duration
			peak := peakHeap(func() {
				for range connections {
					c := g.halt(ctx, t, hostile, message, streams*size*9/10)
					for range streams {
						asking.Go(func() { ask(ctx, c, test.method, &etcdserverpb.RangeRequest{}, 1) })
					}
				}
				began := time.Now()
				for time.Since(began) < 10*time.Second {
					at := time.Now()
					if _, err := client.Get(soon(t), "/tagbus/daq/", clientv3.WithLimit(1)); err != nil {
						t.Errorf("a caller that ends its requests: got %v", err)
						break
					}
					slowest = max(slowest, time.Since(at))
					<-time.After(100 * time.Millisecond)
				}
			})
			cancel()
			asking.Wait()
			t.Logf("%d MiB, and the slowest read took %v", peak>>20, slowest)
			if peak > mostUnended {
				t.Errorf("got %d MiB, want %d at most", peak>>20, mostUnended>>20)
			}
		})
	}
}
