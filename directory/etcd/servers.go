// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// How a connection finds out that a server is gone, and comes back to it.
const (
	pingAfter    = 10 * time.Second       // of silence; gRPC allows no less
	pingPatience = 3 * time.Second        // then the connection is given up; also for what was sent and is not acknowledged
	firstRedial  = 100 * time.Millisecond // pause before a server is dialled again
	lastRedial   = 2 * time.Second
)

// maxAnswerBytes is the most that one answer may take. Strangers may have written what is
// in it.
const maxAnswerBytes = 64 << 20

// servers are the etcd servers as the rest of the package talks to them.
//
// The client of etcd balances requests over all servers that have a connection. It is used
// for that, and for requests with one answer; it repeats none of them, so that they fail
// within Config.RequestTimeout and who asked knows. Threads: any.
type servers struct {
	config Config
	client *clientv3.Client
	lease  etcdserverpb.LeaseClient // for keepalives: those of clientv3 repeat without a pause
	watch  etcdserverpb.WatchClient // for watches: those of clientv3 hide what happens to them
	counts counts

	token   atomic.Pointer[string] // of etcd's authentication; nil: none yet
	running sync.WaitGroup
	mu      sync.Mutex
	pending *tokenRequest // nil: none
}

// connect returns the servers of config. Blocks: never.
func connect(config Config) (*servers, error) {
	s := &servers{config: config}
	options := []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
		Backoff:           backoff.Config{BaseDelay: firstRedial, Multiplier: 1.6, Jitter: 0.2, MaxDelay: lastRedial},
		MinConnectTimeout: config.RequestTimeout,
	}), grpc.WithChainUnaryInterceptor(failFast), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswerBytes)), grpc.WithNoProxy()} // a proxy is for the web
	if config.User != "" {
		options = append(options, grpc.WithPerRPCCredentials(tokenOf{s}))
	}
	client, err := clientv3.New(clientv3.Config{
		MaxCallRecvMsgSize: maxAnswerBytes,
		Endpoints:          config.Endpoints, TLS: config.TLS,
		DialKeepAliveTime: pingAfter, DialKeepAliveTimeout: pingPatience,
		MaxUnaryRetries: 1, DialOptions: options, Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, errors.Join(ErrConfig, err)
	}
	s.client = client
	s.lease = etcdserverpb.NewLeaseClient(client.ActiveConnection())
	s.watch = etcdserverpb.NewWatchClient(client.ActiveConnection())
	return s, nil
}

// failFast makes a request fail while no server can be reached, and while the server that
// gets it has no leader: the next one may have. The client of etcd lets it wait until it
// is too late, and then nothing says why.
func failFast(ctx context.Context, method string, request, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	if r, ok := request.(*etcdserverpb.RangeRequest); !ok || !r.Serializable {
		ctx = clientv3.WithRequireLeader(ctx)
	}
	return invoke(ctx, method, request, reply, cc, append(options, grpc.WaitForReady(false))...)
}

// close ends all connections. What still waits fails.
func (s *servers) close() error {
	err := ignoreCanceled(s.client.Close())
	s.running.Wait()
	return err
}

func ignoreCanceled(err error) error {
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// do makes one request, with a time limit. A token that the servers no longer know is
// renewed, and the request made again.
//
//   - Errors: *ServerError; those of ctx, if it has ended.
func (s *servers) do(ctx context.Context, k kind, request func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, s.config.RequestTimeout)
	defer cancel()
	err := s.authenticated(limited, func() error {
		err := request(limited)
		if ctx.Err() == nil {
			s.counts.asked(k, time.Now(), err, err == nil || !isAway(err))
		}
		return err
	})
	return s.explain(ctx, err)
}

// authenticated makes a request with a token, if the servers want one.
func (s *servers) authenticated(ctx context.Context, request func() error) error {
	if s.config.User == "" {
		return request()
	}
	used := s.token.Load()
	if used == nil {
		if err := s.authenticate(ctx, nil); err != nil {
			return err
		}
		used = s.token.Load()
	}
	err := request()
	if !staleToken(err) {
		return err
	}
	if err := s.authenticate(ctx, used); err != nil {
		return err
	}
	return request()
}

// authenticate returns when there is another token than used. Servers check passwords slowly
// on purpose, and many programs that start at once wait for each other: what was asked for
// is waited for in the background, so that a later request has it.
func (s *servers) authenticate(ctx context.Context, used *string) error {
	s.mu.Lock()
	if s.token.Load() != used {
		s.mu.Unlock()
		return nil
	}
	p := s.pending
	if p == nil {
		p = &tokenRequest{done: make(chan struct{})}
		s.pending = p
		s.running.Go(func() { s.getToken(p) })
	}
	s.mu.Unlock()
	select {
	case <-p.done:
		return p.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// getToken gets a token.
func (s *servers) getToken(p *tokenRequest) {
	ctx, cancel := context.WithTimeout(s.client.Ctx(), max(tokenPatience, s.config.RequestTimeout))
	defer cancel()
	token := ""
	response, err := s.client.Authenticate(ctx, s.config.User, s.config.Password)
	switch {
	case err == nil:
		token = response.Token
	case errors.Is(err, rpctypes.ErrAuthNotEnabled):
		err = nil // everything is allowed
	}
	if s.client.Ctx().Err() == nil {
		s.counts.asked(kindAuthenticate, time.Now(), err, err == nil || !isAway(err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.err = err; err == nil {
		s.token.Store(&token)
	}
	s.pending = nil
	close(p.done)
}

// tokenPatience is how long the servers may take to check a password.
const tokenPatience = time.Minute

// tokenRequest is one that is under way.
type tokenRequest struct {
	done chan struct{} // closed when it is over
	err  error         // then: why there is none
}

// staleToken reports whether a request failed since the servers do not know its token, as
// after a restart, or since it had none.
func staleToken(err error) bool {
	err = rpctypes.Error(err)
	return errors.Is(err, rpctypes.ErrInvalidAuthToken) || errors.Is(err, rpctypes.ErrAuthOldRevision) ||
		errors.Is(err, rpctypes.ErrUserEmpty)
}

// tokenOf gives each request the token.
type tokenOf struct{ *servers }

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (t tokenOf) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	if token := t.token.Load(); token != nil && *token != "" {
		return map[string]string{rpctypes.TokenFieldNameGRPC: *token}, nil
	}
	return nil, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials: whether to use TLS is
// the URL's decision.
func (tokenOf) RequireTransportSecurity() bool { return false }
