// SPDX-License-Identifier: Apache-2.0

package member_test

import (
	"context"
	"io"
	"maps"
	"net"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tagbus/directory/etcd/member"
)

// openMethods are the methods that a caller without a right may call with an empty request. What a
// later version of etcd adds is closed until it stands here.
var openMethods = []string{
	"/etcdserverpb.Auth/Authenticate", // answers that authentication is off, without a look at a password
	"/etcdserverpb.KV/Txn",            // of nothing
	"/etcdserverpb.Lease/LeaseKeepAlive",
	"/grpc.health.v1.Health/Check",
}

// announcing are the methods that one may call besides which the policy lets announce something.
var announcing = []string{
	"/etcdserverpb.Lease/LeaseGrant",
	"/etcdserverpb.Lease/LeaseRevoke", // of a lease whose number it knows
}

// called returns the methods of a member that do not refuse a client.
func called(t *testing.T, m *member.Member, client *clientv3.Client) (open []string) {
	t.Helper()
	methods := m.Methods()
	if len(methods) < 40 {
		t.Fatalf("got %d methods, want all that etcd has", len(methods))
	}
	for _, method := range slices.Sorted(maps.Keys(methods)) {
		err := call(soon(t), client.ActiveConnection(), method, methods[method])
		if status.Code(err) != codes.PermissionDenied {
			open = append(open, method)
		} else if text := err.Error(); !strings.Contains(text, "tagbus-directory: ") || !strings.Contains(text, strings.TrimPrefix(method, "/")) {
			t.Errorf("%s: got %v, want it to name the method", method, err)
		}
	}
	return open
}

// call calls a method with a request of no bytes, which is one of every type; a watch with one for
// all keys, since it waits for more otherwise.
func call(ctx context.Context, conn *grpc.ClientConn, method string, streams bool) error {
	empty, answer := new(etcdserverpb.CompactionRequest), new(etcdserverpb.CompactionRequest)
	if !streams {
		return conn.Invoke(ctx, method, empty, answer)
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		return err
	}
	var first any = empty
	if method == "/etcdserverpb.Watch/Watch" {
		all := &etcdserverpb.WatchCreateRequest{Key: []byte{0}, RangeEnd: []byte{0}}
		first = &etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_CreateRequest{CreateRequest: all}}
	}
	if err := stream.SendMsg(first); err != nil && err != io.EOF { //nolint:errorlint // gRPC returns it as it is
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	return stream.RecvMsg(answer)
}

func TestEachMethodIsClosed(t *testing.T) {
	t.Parallel()
	m := startGuarded(t)
	if diff := cmp.Diff(openMethods, called(t, m.Member, m.client(t, "cn:none"))); diff != "" {
		t.Errorf("a caller that may announce nothing (-want +got):\n%s", diff)
	}
	may := append(slices.Clone(openMethods), announcing...)
	slices.Sort(may)
	if diff := cmp.Diff(may, called(t, m.Member, m.client(t, "uri:spiffe://cern.ch/daq/felix"))); diff != "" {
		t.Errorf("a publisher (-want +got):\n%s", diff)
	}
	may = append(slices.Clone(openMethods), "/etcdserverpb.Cluster/MemberList", "/etcdserverpb.Maintenance/Alarm", "/etcdserverpb.Maintenance/Status")
	slices.Sort(may)
	if diff := cmp.Diff(may, called(t, m.Member, m.client(t, "dns:directory-7"))); diff != "" {
		t.Errorf("another member (-want +got):\n%s", diff)
	}
	for _, name := range []string{"cn:operator 7", "dns:directory-1"} {
		if got, err := m.client(t, name).MemberList(soon(t)); err != nil || len(got.Members) != 1 {
			t.Errorf("%s: got %v, want it to administer", name, err)
		}
	}
}

// asUser returns a function that dials as a process of another user does.
func asUser(t *testing.T, uid uintptr) func(context.Context, string) (net.Conn, error) {
	t.Helper()
	if syscall.Geteuid() != 0 {
		t.Skip("needs root, to be another user")
	}
	return func(ctx context.Context, at string) (net.Conn, error) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		_, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, uid, 0, 0)
		defer func() { _, _, _ = syscall.RawSyscall(syscall.SYS_SETFSUID, 0, 0, 0) }()
		return new(net.Dialer).DialContext(ctx, "tcp", at)
	}
}

// stranger is a user that runs no member.
const stranger = 4711

func TestAnotherUserOfTheHost(t *testing.T) {
	t.Parallel()
	m := start(t, member.Config{Data: t.TempDir(), Listen: freeAddress(t), Name: "a"})
	other := dialled(t, clientv3.Config{
		Endpoints: []string{"http://" + m.Clients()}, DialOptions: []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return asUser(t, stranger)(ctx, m.Clients())
		})},
	})
	may := append(slices.Clone(openMethods), announcing...)
	slices.Sort(may)
	if diff := cmp.Diff(may, called(t, m, other)); diff != "" {
		t.Errorf("another user (-want +got):\n%s", diff)
	}
	if _, err := other.MemberAdd(soon(t), []string{"http://127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), "user 4711") {
		t.Errorf("got %v, want a refusal that names the user", err)
	}
	own := dialled(t, clientv3.Config{Endpoints: []string{"http://" + m.Clients()}})
	if got, err := own.MemberList(soon(t)); err != nil || len(got.Members) != 1 {
		t.Errorf("the user of the member: got %v, want it to administer", err)
	}
}
