// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"tagbus/directory/etcd/internal/held"
)

// maxWatches is how many watches one stream may have. A directory uses one.
const maxWatches = 32

// leastAnswer is how much an answer of a stream counts at least, bytes: gRPC holds more of a short one than
// its bytes.
const leastAnswer = 2 << 10

// stream is the interceptor of requests with many answers.
func (g *Guard) stream(server any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	arrived(stream.Context())
	stream = inContext{stream, withoutVersion(stream.Context())}
	caller := callerOf(stream.Context())
	answers := &counted{ServerStream: stream, guard: g, caller: caller, at: connOf(stream.Context())}
	switch {
	case caller == nil:
		return g.tell(g.refuse(caller, info.FullMethod, "its connection is not known"))
	case administers(caller):
		return handler(server, stream)
	case info.FullMethod == methodKeepAlive: // it knows the number
		return handler(server, answers)
	case info.FullMethod == methodWatch:
		watched := &watched{counted: answers}
		err := handler(server, watched)
		watched.replays.end()
		if refused := watched.refused.Load(); refused != nil {
			return g.tell(*refused)
		}
		return err
	case caller.Rank() == Administrator:
		return handler(server, stream)
	}
	return g.tell(g.refuse(caller, info.FullMethod, g.Hint))
}

// counted is a stream whose answers are held within bounds.
type counted struct {
	grpc.ServerStream
	guard  *Guard
	caller Caller
	at     *held.Conn // nil: they are not counted
}

// SendMsg sends an answer, once there is room for it.
func (c *counted) SendMsg(message any) error {
	m, ok := message.(proto.Message)
	if !ok || c.at == nil {
		return c.ServerStream.SendMsg(message)
	}
	answer, err := c.guard.room(c.Context(), c.caller, c.at, max(leastAnswer, proto.Size(m)))
	if err != nil {
		return err
	}
	if answer == nil {
		return c.ServerStream.SendMsg(message)
	}
	return c.send(message, answer)
}

// send sends an answer that has room.
func (c *counted) send(message any, answer *held.Answer) error {
	if err := c.ServerStream.SendMsg(answer.Of(message)); err != nil {
		answer.Release()
		return err
	}
	return nil
}

// watched is the stream of a watch.
type watched struct {
	*counted
	watches int // that were asked for; of the goroutine that receives
	free    atomic.Bool
	refused atomic.Pointer[error]
	replays replays
	sending sync.Mutex
}

// RecvMsg returns the next request, or the error with which it is refused.
func (w *watched) RecvMsg(message any) error {
	for {
		if err := w.ServerStream.RecvMsg(message); err != nil {
			return err
		}
		if w.free.Load() {
			return nil
		}
		again, err := w.let(message)
		if err == nil && !again {
			return nil
		}
		if err != nil && w.caller.Rank() == Administrator {
			w.free.Store(true)
			return nil
		}
		if err != nil {
			w.refused.Store(&err)
			return err
		}
		proto.Reset(message.(proto.Message))
	}
}

// let returns nil if a client may make a request.
//
//   - answered: it has its answer, and is not for etcd.
func (w *watched) let(message any) (answered bool, err error) {
	if err := w.check(message); err != nil {
		return false, err
	}
	if r, ok := message.(*etcdserverpb.WatchRequest); ok && r.GetCreateRequest() != nil {
		return w.replay(r.GetCreateRequest())
	}
	return false, nil
}

// check returns nil if a request is one that a client makes.
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

// SendMsg sends an answer without the leases of entries.
func (w *watched) SendMsg(message any) error {
	w.sending.Lock() // etcd sends from one goroutine, and a replay that is refused from another
	defer w.sending.Unlock()
	r, ok := message.(*etcdserverpb.WatchResponse)
	switch {
	case w.free.Load():
		return w.ServerStream.SendMsg(message)
	case !ok || len(r.GetEvents()) == 0:
		return w.counted.SendMsg(message)
	}
	r = withoutLeases(r)
	w.replays.sends(true)
	defer w.replays.sends(false)
	replay := w.replays.next(r.GetFragment())
	switch size := proto.Size(r); {
	case replay == nil:
		return w.counted.SendMsg(r)
	case r.GetFragment(): // gRPC holds two of them, for which there is room
		return w.ServerStream.SendMsg(r)
	case size > replay.Bytes():
		replay.Release()
		return w.counted.SendMsg(r)
	default:
		replay.Shrink(max(leastAnswer, size))
		return w.send(r, replay)
	}
}
