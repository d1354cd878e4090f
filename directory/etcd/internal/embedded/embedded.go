// SPDX-License-Identifier: Apache-2.0

// Package embedded tests what happens to a directory when its server stops, or starts again.
// It runs a server of etcd in the test's process, stops it, and starts it again.
package embedded

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// patience is how long a server may take to start.
const patience = 30 * time.Second

// Server is a server of etcd with one member. It serves its clients at a socket, so that it
// has the same address whenever it runs.
//
// Threads: one, that of the test.
type Server struct {
	tb     testing.TB
	folder string
	tls    *transport.TLSInfo
	quota  int64
	etcd   *embed.Etcd
}

// Option is how a Server differs from the usual one.
type Option func(*Server)

// TLS makes the server talk TLS.
//
//   - cert, key: PEM files of the server. ca: of those whose clients it serves; empty: all.
func TLS(cert, key, ca string) Option {
	return func(s *Server) {
		s.tls = &transport.TLSInfo{CertFile: cert, KeyFile: key, TrustedCAFile: ca, ClientCertAuth: ca != ""}
	}
}

// Quota makes the server refuse data above a size, bytes.
func Quota(bytes int64) Option { return func(s *Server) { s.quota = bytes } }

// New returns a server that does not run. It is stopped when the test ends.
func New(tb testing.TB, options ...Option) *Server {
	tb.Helper()
	folder, err := os.MkdirTemp("", "etcd") //nolint:usetesting // the path of a socket is short, that of TempDir is not
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{tb: tb, folder: folder}
	for _, option := range options {
		option(s)
	}
	tb.Cleanup(func() {
		s.Stop()
		if err := os.RemoveAll(folder); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// Start returns a server that runs.
func Start(tb testing.TB, options ...Option) *Server {
	tb.Helper()
	s := New(tb, options...)
	s.Start()
	return s
}

// Endpoint is where it serves its clients, as etcd.Config wants it.
func (s *Server) Endpoint() string { return "unix://" + filepath.Join(s.folder, "s") }

// Start starts it, on the data that it had.
func (s *Server) Start() {
	s.tb.Helper()
	c := embed.NewConfig()
	c.Name, c.Dir = "m", filepath.Join(s.folder, "data")
	peer := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	client := url.URL{Scheme: "unix", Path: filepath.Join(s.folder, "s")}
	if s.tls != nil {
		client.Scheme = "unixs"
		c.ClientTLSInfo = *s.tls
	}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.InitialClusterToken = s.folder // of which the id of the cluster is made
	c.TickMs, c.ElectionMs = 10, 100
	c.UnsafeNoFsync, c.BcryptCost = true, 4 // the least: passwords are no secrets here
	c.QuotaBackendBytes = s.quota
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	e, err := embed.StartEtcd(c)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.etcd = e
	select {
	case <-e.Server.ReadyNotify():
	case <-time.After(patience):
		s.tb.Fatal("got no server that is ready, want one")
	}
}

// Stop ends it, and all connections to it. Without a server that runs it does nothing.
func (s *Server) Stop() {
	if s.etcd != nil {
		s.etcd.Server.HardStop() // it neither waits for its clients nor hands anything over
		s.etcd.Close()
		s.etcd = nil
	}
}

// Wipe removes its data. It must not run.
func (s *Server) Wipe() {
	s.tb.Helper()
	if err := os.RemoveAll(filepath.Join(s.folder, "data")); err != nil {
		s.tb.Fatal(err)
	}
}

// Save keeps its data as they are. It must not run.
func (s *Server) Save() {
	s.tb.Helper()
	if err := os.CopyFS(filepath.Join(s.folder, "saved"), os.DirFS(filepath.Join(s.folder, "data"))); err != nil {
		s.tb.Fatal(err)
	}
}

// Restore gives it the data of Save again, as a backup does. It must not run.
func (s *Server) Restore() {
	s.tb.Helper()
	s.Wipe()
	if err := os.Rename(filepath.Join(s.folder, "saved"), filepath.Join(s.folder, "data")); err != nil {
		s.tb.Fatal(err)
	}
}

// Client returns a client of the test's own, in the server's process. It is patient.
func (s *Server) Client() *clientv3.Client {
	s.tb.Helper()
	c, err := clientv3.New(clientv3.Config{
		Endpoints: []string{s.Endpoint()}, Logger: zap.NewNop(), DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(patiently)},
	})
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { _ = c.Close() })
	return c
}

// patiently makes a request again that the server itself has given up: on a busy machine it may take longer than the
// server waits for its disk, and for its own election.
func patiently(ctx context.Context, method string, request, reply any, to *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	given := []error{rpctypes.ErrTimeout, rpctypes.ErrTimeoutDueToLeaderFail, rpctypes.ErrTimeoutDueToConnectionLost, rpctypes.ErrLeaderChanged}
	for tries := 1; ; tries++ {
		err := invoke(ctx, method, request, reply, to, options...)
		if tries == 10 || !slices.Contains(given, rpctypes.Error(err)) {
			return err
		}
	}
}

// Put writes a key, as a stranger would.
func (s *Server) Put(key, value string) {
	s.tb.Helper()
	if _, err := s.Client().Put(context.Background(), key, value); err != nil {
		s.tb.Fatal(err)
	}
}
