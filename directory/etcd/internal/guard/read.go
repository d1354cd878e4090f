// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"tagbus/directory/etcd/internal/held"
	"tagbus/internal/sanitize"
)

// How long one read is, how many keys it has at most, and how many of them are read from the disk at once: a read ends
// when its answer is too long, and has little more than that until then.
const (
	longestEntry  = 1536 << 10        // that a member takes, which member.MaxEntry says too
	longestAnswer = 16 * longestEntry // to one read

	maxKeys    = 256 // as package directory/etcd asks for
	maxKeyOnly = 1 << 14
	stepKeys   = 8
)

// longestKey is how long a key is, with what an answer says of it, about.
const longestKey = 1 << 10

// scan returns nil if a client may read a range. etcd reads all keys of one that it sorts or filters.
func (g *Guard) scan(caller Caller, method string, r *etcdserverpb.RangeRequest) error {
	if err := g.inBus(caller, method, r.Key, r.RangeEnd); err != nil {
		return err
	}
	if len(r.RangeEnd) > 0 && !r.CountOnly && readsAll(r) {
		return g.refuse(caller, method, "a client reads in the order of keys, and without filters: sort what it gets; of other reads "+g.Hint)
	}
	return nil
}

// readsAll reports whether etcd reads all keys of a range whatever its limit is.
func readsAll(r *etcdserverpb.RangeRequest) bool {
	sorted := r.SortOrder != etcdserverpb.RangeRequest_NONE && (r.SortTarget != etcdserverpb.RangeRequest_KEY || r.SortOrder != etcdserverpb.RangeRequest_ASCEND)
	return sorted || r.MinModRevision != 0 || r.MaxModRevision != 0 || r.MinCreateRevision != 0 || r.MaxCreateRevision != 0
}

// roomFor returns how long the answer to a request may be, bytes; 0: it is short.
func roomFor(request any) int {
	switch r := request.(type) {
	case *etcdserverpb.RangeRequest:
		switch {
		case r.CountOnly:
		case len(r.RangeEnd) > 0 && r.KeysOnly:
			return min(limitOf(r)*longestKey, longestAnswer)
		case len(r.RangeEnd) > 0:
			return min(limitOf(r)*longestEntry, longestAnswer)
		default:
			return roomForKey(r)
		}
	case *etcdserverpb.TxnRequest: // at most one of its reads has a value
		for _, steps := range [][]*etcdserverpb.RequestOp{r.GetSuccess(), r.GetFailure()} {
			for _, op := range steps {
				if one := op.GetRequestRange(); one != nil && roomForKey(one) > 0 {
					return longestEntry
				}
			}
		}
	}
	return 0
}

// roomForKey is roomFor for a read of one key. Marks are short.
func roomForKey(r *etcdserverpb.RangeRequest) int {
	if at, ok := placeOf(r.GetKey()); r.GetKeysOnly() || r.GetCountOnly() || ok && at.instance == "" {
		return 0
	}
	return longestEntry
}

// limitOf returns how many keys a range has at most.
func limitOf(r *etcdserverpb.RangeRequest) int {
	most := int64(maxKeys)
	if r.KeysOnly {
		most = maxKeyOnly
	}
	if r.Limit > 0 {
		most = min(most, r.Limit)
	}
	return int(most)
}

// answer makes the answer to a request of a client that it may make.
func (g *Guard) answer(ctx context.Context, caller Caller, request any, shown leases, handler grpc.UnaryHandler) (any, error) {
	room, at := roomFor(request), connOf(ctx)
	if room == 0 || at == nil {
		response, err := handler(ctx, request)
		if err == nil {
			shown.hide(response)
		}
		return response, err
	}
	r, isRange := request.(*etcdserverpb.RangeRequest)
	isRange = isRange && len(r.RangeEnd) > 0
	var header *etcdserverpb.ResponseHeader
	if isRange && !r.Serializable {
		// It may take long until the members agree on what is newest, and nothing is held meanwhile.
		var err error
		if header, err = g.agree(ctx, r, handler); err != nil {
			return nil, err
		}
	}
	answer, err := g.room(ctx, caller, at, room)
	if answer == nil || err != nil {
		if err == nil {
			return handler(ctx, request)
		}
		return nil, err
	}
	var response any
	if isRange {
		response, err = g.read(ctx, caller, r, header, handler)
	} else {
		response, err = handler(ctx, request)
	}
	if err != nil {
		answer.Release()
		return nil, err
	}
	shown.hide(response)
	if message, ok := response.(proto.Message); ok {
		answer.Shrink(proto.Size(message))
	}
	return answer.Of(response), nil
}

// room returns an answer that has room, once there is some; nil: an administrator needs none, who shares the
// bounds of its host.
func (g *Guard) room(ctx context.Context, caller Caller, at *held.Conn, bytes int) (*held.Answer, error) {
	if !g.answers.HasRoom(at, bytes) && caller.Rank() == Administrator {
		return nil, nil
	}
	answer, err := g.answers.Take(ctx, at, bytes)
	switch {
	case errors.Is(err, held.ErrTooMany):
		return nil, status.Error(codes.ResourceExhausted, Prefix+sanitize.Line(caller.String()+
			" asks for more than it takes: 64 MiB of answers are held for a caller, and 192 MiB for all; read the answers, and ask for less at once"))
	case err != nil:
		return nil, status.FromContextError(err).Err()
	}
	return answer, nil
}

// agree returns the header of an answer that has what is newest.
func (*Guard) agree(ctx context.Context, r *etcdserverpb.RangeRequest, handler grpc.UnaryHandler) (*etcdserverpb.ResponseHeader, error) {
	response, err := handler(ctx, &etcdserverpb.RangeRequest{Key: r.Key, Revision: r.Revision, CountOnly: true})
	if err != nil {
		return nil, err
	}
	if counted, ok := response.(*etcdserverpb.RangeResponse); ok {
		return counted.GetHeader(), nil
	}
	return nil, status.Error(codes.Internal, Prefix+"the answer to a read is none")
}

// read makes the answer to a range, in steps.
//
//   - header: of the revision that it has; nil: any that this member knows.
func (g *Guard) read(ctx context.Context, caller Caller, r *etcdserverpb.RangeRequest, header *etcdserverpb.ResponseHeader, handler grpc.UnaryHandler) (*etcdserverpb.RangeResponse, error) {
	step := proto.CloneOf(r)
	step.Serializable = true
	if step.Revision == 0 {
		step.Revision = header.GetRevision()
	}
	var whole *etcdserverpb.RangeResponse
	most, bytes := limitOf(r), 0
	for {
		step.Limit = int64(min(most, stepKeys))
		if r.KeysOnly {
			step.Limit = int64(most)
		}
		made, err := handler(ctx, step)
		if err != nil {
			return nil, err
		}
		part, ok := made.(*etcdserverpb.RangeResponse)
		if !ok {
			return nil, status.Error(codes.Internal, Prefix+"the answer to a read is none")
		}
		if bytes += proto.Size(part); bytes > longestAnswer {
			return nil, errLong(caller)
		}
		if whole == nil {
			whole = part
			if header == nil {
				header = part.GetHeader()
			}
			whole.Header = header
		} else {
			whole.Kvs, whole.More = append(whole.Kvs, part.Kvs...), part.More
		}
		if most -= len(part.Kvs); !part.More || len(part.Kvs) == 0 || most <= 0 {
			break
		}
		step.Key = append(append([]byte(nil), part.Kvs[len(part.Kvs)-1].Key...), 0)
		if step.Revision == 0 {
			step.Revision = header.GetRevision()
		}
	}
	if whole.More && (r.Limit <= 0 || r.Limit > int64(limitOf(r))) {
		return nil, errLong(caller)
	}
	return whole, nil
}

// errLong is the error for a read whose answer is too long.
func errLong(caller Caller) error {
	return status.Error(codes.ResourceExhausted, Prefix+sanitize.Line(caller.String()+
		" reads too much at once: 256 entries, 16384 keys alone, and 24 MiB at most; ask with a limit of at most 256 (etcdctl get --limit), and then from the last key on"))
}
