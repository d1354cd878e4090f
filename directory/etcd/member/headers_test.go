// SPDX-License-Identifier: Apache-2.0

package member_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
)

// bare returns a connection of a caller that sends the headers that it is given, as a client of etcd does not.
func (g *guarded) bare(t *testing.T, name string) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient("passthrough:///"+g.Clients(), grpc.WithTransportCredentials(credentials.NewTLS(g.config(t, name))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// A header that is repeated takes a byte each on the wire, and all of its bytes in memory.
func TestHeadersOfRequestsAreBounded(t *testing.T) {
	t.Parallel()
	c := startGuarded(t).bare(t, hostile)
	ctx := soon(t)
	for range 16 {
		ctx = metadata.AppendToOutgoingContext(ctx, "x-bin", strings.Repeat("x", 3<<10))
	}
	_, err := etcdserverpb.NewKVClient(c).Range(ctx, &etcdserverpb.RangeRequest{Key: []byte("/tagbus/daq/e/x")})
	if err == nil || !strings.Contains(err.Error(), "header list size") {
		t.Errorf("48 KiB of headers: got %v, want a refusal", err)
	}
}

// Of what a caller says of itself nothing stays behind: etcd has a series of its metrics for each version of a client.
func TestCallersLeaveNoMetrics(t *testing.T) {
	t.Parallel()
	const version = "a version of its own"
	c := startGuarded(t).bare(t, hostile)
	ctx := metadata.AppendToOutgoingContext(soon(t), rpctypes.MetadataClientAPIVersionKey, version)
	if _, err := etcdserverpb.NewKVClient(c).Range(ctx, &etcdserverpb.RangeRequest{Key: []byte("/tagbus/daq/e/x")}); err != nil {
		t.Fatal(err)
	}
	watch, err := etcdserverpb.NewWatchClient(c).Watch(ctx)
	if err == nil {
		create := &etcdserverpb.WatchCreateRequest{Key: []byte("/tagbus/daq/e/x")}
		err = watch.Send(&etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_CreateRequest{CreateRequest: create}})
	}
	if err == nil {
		_, err = watch.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, series := range family.GetMetric() {
			for _, label := range series.GetLabel() {
				if strings.Contains(label.GetValue(), version) {
					t.Errorf("%s has a series of %q", family.GetName(), label)
				}
			}
		}
	}
}
