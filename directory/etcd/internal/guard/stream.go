// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// maxWatches is how many watches one stream may have. A directory uses one.
const maxWatches = 32

// stream is the interceptor of requests with many answers.
func (g *Guard) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	caller := callerOf(stream.Context())
	switch {
	case caller == nil:
		return g.tell(g.refuse(caller, info.FullMethod, "its connection is not known"))
	case administers(caller), info.FullMethod == methodKeepAlive: // it knows the number
		return handler(server, stream)
	case info.FullMethod == methodWatch:
		watched := &watched{ServerStream: stream, guard: g, caller: caller}
		err := handler(server, watched)
		if refused := watched.refused.Load(); refused != nil {
			return g.tell(*refused)
		}
		return err
	case caller.Rank() == Administrator:
		return handler(server, stream)
	}
	return g.tell(g.refuse(caller, info.FullMethod, g.Hint))
}

// watched is the stream of a watch.
type watched struct {
	grpc.ServerStream
	guard   *Guard
	caller  Caller
	watches int // that were asked for; of the goroutine that receives
	free    atomic.Bool
	refused atomic.Pointer[error]
}

// RecvMsg returns the next request, or the error with which it is refused.
func (w *watched) RecvMsg(message any) error {
	if err := w.ServerStream.RecvMsg(message); err != nil {
		return err
	}
	if w.free.Load() {
		return nil
	}
	err := w.check(message)
	if err == nil {
		return nil
	}
	if w.caller.Rank() == Administrator {
		w.free.Store(true)
		return nil
	}
	w.refused.Store(&err)
	return err
}

// check returns nil if a client may make a request.
func (w *watched) check(message any) error {
	r, ok := message.(*etcdserverpb.WatchRequest)
	if !ok {
		return w.guard.refuse(w.caller, methodWatch, "its request is not known")
	}
	create := r.GetCreateRequest()
	if create == nil {
		return nil
	}
	if w.watches++; w.watches > maxWatches {
		return w.guard.refuse(w.caller, methodWatch, "it has more than 32 watches in one stream")
	}
	return w.guard.inBus(w.caller, methodWatch, create.Key, create.RangeEnd)
}

// smallEvents is how long the events of a watch are at least that are counted, bytes.
const smallEvents = 1 << 10

// SendMsg sends an answer without the leases of entries. Events, such as the history of a bus, wait until there is
// room for them.
func (w *watched) SendMsg(message any) error {
	r, ok := message.(*etcdserverpb.WatchResponse)
	if !ok || len(r.GetEvents()) == 0 || w.free.Load() {
		return w.ServerStream.SendMsg(message)
	}
	r = withoutLeases(r)
	at, size := connOf(w.Context()), proto.Size(r)
	if at == nil || size <= smallEvents {
		return w.ServerStream.SendMsg(r)
	}
	answer, err := w.guard.room(w.Context(), w.caller, at, size)
	if err != nil {
		return err
	}
	if answer == nil {
		return w.ServerStream.SendMsg(r)
	}
	if err := w.ServerStream.SendMsg(answer.Of(r)); err != nil {
		answer.Release()
		return err
	}
	return nil
}
