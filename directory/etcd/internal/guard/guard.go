// SPDX-License-Identifier: Apache-2.0

// Package guard decides whether a caller may make a request of a member. It stands before all
// services that etcd has on the port for clients, as interceptors of gRPC.
//
// What is not named here is refused, so that a method which a later version of etcd adds is
// closed until a line here opens it. There are four ranks (Rank). A client announces and
// watches, which takes five methods, and of these the shapes that package directory/etcd uses:
//
//   - it reads and watches keys of one bus, /tagbus/NAME/;
//   - it writes an entry with a lease, if the entry is one of its instance, if the policy lets
//     the client announce some of its tags, and if the key is free or has the lease that the
//     client names;
//   - it deletes an entry whose lease it names, one key at a time.
//
// A lease is the right to its entries: its number is random, has 63 bits, and is shown to a
// caller that names it alone. That holds on all members without a table of owners, and for
// callers that have no certificate.
package guard

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"net"
	"slices"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"tagbus/acl"
	"tagbus/directory/etcd/internal/held"
	"tagbus/identity"
	"tagbus/tags"
)

// Rank is what a caller is to a member.
type Rank uint8

// The ranks. Each has what those before it have, except that only a Client is held to its keys.
const (
	Client        Rank = iota // finds and announces
	Member                    // asks how the members are, as other members do
	Joiner                    // becomes a learner besides
	Administrator             // everything
)

// Caller is the peer of a connection.
type Caller interface {
	Principal() identity.Principal
	Rank() Rank
	Spend(bytes int, now time.Time) bool // as Budget has it
	String() string                      // for people
}

// Addr is the remote address of a connection, as gRPC hands it on, and which caller is there.
type Addr struct {
	net.Addr
	Caller Caller
	Conn   *held.Conn
}

// Access says what a caller may do. access.Access is one.
type Access interface {
	Split(who identity.Principal, action acl.Action, asked tags.Set) (may, mayNot tags.Set)
	Allowed(who identity.Principal, action acl.Action) tags.Set
}

// Guard lets requests pass, or refuses them.
//
// Threads: any.
type Guard struct {
	// Access is the policy; nil: each caller may announce anything.
	Access Access

	// Hint says what makes a caller an administrator, for a person whose command was refused.
	Hint string

	// LeaseOf returns the lease of a key as this member knows it; 0: none.
	LeaseOf func(ctx context.Context, key []byte) int64

	// Authenticates reports whether etcd's own authentication is switched on. Only then are
	// passwords looked at, which costs much.
	Authenticates func() bool

	// History returns how much the members keep of what has changed since a revision, and which one is
	// the last, as far as this member knows. It need not count beyond MaxReplay. nil: it is not looked at.
	History func(since int64) (bytes int, last int64)

	// Problem returns what is wrong with this member that etcd does not know, for those that ask how it is; "": nothing.
	// nil: nothing is looked at. The answer to Status has it among its errors, behind ProblemPrefix.
	Problem func() string

	// Refused is told of each refusal; nil: nothing is.
	Refused func(text string)

	answers held.Answers
}

// Options returns what a gRPC server needs to be guarded.
func (g *Guard) Options() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.InTapHandle(begin), grpc.UnaryInterceptor(g.unary), grpc.StreamInterceptor(g.stream), grpc.ForceServerCodecV2(held.Codec()),
		grpc.MaxHeaderListSize(maxHeaders),
	}
}

// ProblemPrefix is what tells a problem of Guard.Problem from an error of etcd.
const ProblemPrefix = "tagbus: "

// unary is the interceptor of requests with one answer.
func (g *Guard) unary(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	response, err := g.pass(withoutVersion(ctx), request, info, handler)
	if r, ok := response.(*etcdserverpb.StatusResponse); ok && err == nil && g.Problem != nil {
		if text := g.Problem(); text != "" {
			r.Errors = append(r.Errors, ProblemPrefix+text)
		}
	}
	return response, err
}

// pass hands a request on, or refuses it.
func (g *Guard) pass(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	arrived(ctx)
	caller := callerOf(ctx)
	if administers(caller) {
		if r, ok := request.(*etcdserverpb.LeaseGrantRequest); ok && r.ID == 0 {
			number(r) // etcd's numbers can be guessed
		}
		return handler(ctx, request)
	}
	shown, err := g.check(ctx, caller, info.FullMethod, request)
	if err != nil {
		if caller != nil && caller.Rank() == Administrator {
			return handler(ctx, request)
		}
		return nil, g.tell(err)
	}
	response, err := g.answer(ctx, caller, request, shown, handler)
	if status.Code(err) == codes.ResourceExhausted && caller.Rank() == Administrator {
		return handler(ctx, request) // it shares the bounds of its host, and is not held to them
	}
	return response, err
}

// check returns nil if a caller that is no administrator may make a request, which it may
// change.
//
//   - shown: the leases that the answer may have.
func (g *Guard) check(ctx context.Context, caller Caller, method string, request any) (shown leases, err error) {
	shown = make(leases)
	if caller == nil {
		return nil, g.refuse(caller, method, "its connection is not known")
	}
	switch r := request.(type) {
	case *etcdserverpb.RangeRequest:
		if method == methodRange {
			return shown, g.scan(caller, method, r)
		}
	case *etcdserverpb.TxnRequest:
		if method == methodTxn {
			t := txn{Guard: g, caller: caller, shown: shown}
			return shown, t.let(ctx, r)
		}
	case *etcdserverpb.LeaseGrantRequest:
		if method == methodGrant {
			return shown, g.grant(caller, method, r)
		}
	case *etcdserverpb.LeaseRevokeRequest:
		if method == methodRevoke {
			return shown, g.propose(caller, method, changeBytes+proto.Size(r)) // it knows the number
		}
	}
	return shown, g.other(caller, method, request)
}

// Methods, as gRPC names them.
const (
	methodRange        = "/etcdserverpb.KV/Range"
	methodTxn          = "/etcdserverpb.KV/Txn"
	methodGrant        = "/etcdserverpb.Lease/LeaseGrant"
	methodRevoke       = "/etcdserverpb.Lease/LeaseRevoke"
	methodKeepAlive    = "/etcdserverpb.Lease/LeaseKeepAlive"
	methodWatch        = "/etcdserverpb.Watch/Watch"
	methodAuthenticate = "/etcdserverpb.Auth/Authenticate"
	methodMemberList   = "/etcdserverpb.Cluster/MemberList"
	methodMemberAdd    = "/etcdserverpb.Cluster/MemberAdd"
	methodStatus       = "/etcdserverpb.Maintenance/Status"
	methodAlarm        = "/etcdserverpb.Maintenance/Alarm"
	methodHealth       = "/grpc.health.v1.Health/Check"
)

// other is check for the requests that change no entry.
func (g *Guard) other(caller Caller, method string, request any) error {
	switch method {
	case methodHealth:
		return nil
	case methodAuthenticate:
		if g.Authenticates == nil || !g.Authenticates() {
			return errNotEnabled
		}
		return nil
	case methodMemberList, methodStatus:
		if caller.Rank() >= Member {
			return nil
		}
	case methodAlarm:
		r, ok := request.(*etcdserverpb.AlarmRequest)
		if ok && r.Action == etcdserverpb.AlarmRequest_GET && caller.Rank() >= Member {
			return nil
		}
	case methodMemberAdd:
		// A learner has no vote, and gets one once it has caught up, as other members see it.
		r, ok := request.(*etcdserverpb.MemberAddRequest)
		if ok && r.IsLearner && caller.Rank() >= Joiner {
			return nil
		}
	}
	return g.refuse(caller, method, g.Hint)
}

// Bounds of a lease of a client, seconds: as directory/etcd has them.
const maxTTL = 24 * 60 * 60

// grant lets a client have a lease, whose number is the member's choice.
func (g *Guard) grant(caller Caller, method string, r *etcdserverpb.LeaseGrantRequest) error {
	switch {
	case r.ID != 0:
		return g.refuse(caller, method, "the number of a lease is the member's choice")
	case r.TTL > maxTTL:
		return g.refuse(caller, method, "a lease lives for 86400 s at most")
	}
	if err := g.propose(caller, method, leaseBytes); err != nil {
		return err
	}
	number(r)
	return nil
}

// number gives a lease a number that no caller guesses.
func number(r *etcdserverpb.LeaseGrantRequest) {
	for r.ID <= hidden {
		var bytes [8]byte
		_, _ = rand.Read(bytes[:]) // it never fails
		r.ID = int64(binary.BigEndian.Uint64(bytes[:]) >> 1)
	}
}

// anything are the actions of those that announce something: publishers and receivers, and
// subscribers and senders, of which it is listed that they are there.
var anything = []acl.Action{acl.Publish, acl.Receive, acl.Subscribe, acl.Send}

// announces reports whether the policy lets a caller do one of some things with any tag.
func (g *Guard) announces(caller Caller, actions []acl.Action) bool {
	if g.Access == nil {
		return true
	}
	return slices.ContainsFunc(actions, func(a acl.Action) bool { return !g.Access.Allowed(caller.Principal(), a).IsEmpty() })
}
