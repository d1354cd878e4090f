// SPDX-License-Identifier: Apache-2.0

package member_test

import (
	"net"
	"net/http"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"tagbus/directory/etcd/member"
)

// A server that etcd makes before the door of clients is open serves them as one that it makes later.
func TestAnEarlyServerServes(t *testing.T) {
	t.Parallel()
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	end, err := member.ServeEarly(l, server)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	}()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := grpc_health_v1.NewHealthClient(conn).Check(soon(t), new(grpc_health_v1.HealthCheckRequest)); err != nil {
		t.Errorf("got %v, want an answer", err)
	}
}

// A caller of HTTP that sends or reads nothing keeps no connection, and its headers take little.
func TestTheWebIsImpatient(t *testing.T) {
	t.Parallel()
	s := member.WebServer(http.NotFoundHandler())
	if s.ReadHeaderTimeout <= 0 || s.ReadTimeout <= 0 || s.WriteTimeout <= 0 || s.IdleTimeout <= 0 {
		t.Errorf("got %+v, want a limit for each wait", s)
	}
	if s.MaxHeaderBytes <= 0 || s.MaxHeaderBytes > 16<<10 {
		t.Errorf("got %d bytes of headers, want 16 KiB at most", s.MaxHeaderBytes)
	}
}
