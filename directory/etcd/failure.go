// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"tagbus/internal/sanitize"
)

// ServerError reports a request that the servers did not answer, or refused. It wraps
// ErrAway or ErrRefused, and what the client of etcd reports.
type ServerError struct {
	Endpoints []string // of the Config
	Err       error
	Hint      string // what to do
}

// Error names the servers, what happened, and what to do.
func (e *ServerError) Error() string {
	return sanitize.Linef("%v: %s: %s", e.Err, strings.Join(e.Endpoints, ","), e.Hint)
}

// Unwrap returns Err.
func (e *ServerError) Unwrap() error { return e.Err }

// explain makes err a *ServerError, except that of a context that has ended.
func (s *servers) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if already := (*ServerError)(nil); errors.As(err, &already) {
		return err
	}
	kind := ErrRefused
	if isAway(err) || isSlow(err) {
		kind = ErrAway
	}
	return &ServerError{s.config.Endpoints, fmt.Errorf("%w (%w)", kind, cause{err}), hintFor(err, s.config.TLS != nil)}
}

// cause shows an error of gRPC by its message alone.
type cause struct{ error }

// Error returns the message, shortened.
func (c cause) Error() string {
	text := c.error.Error()
	if s, ok := status.FromError(c.error); ok {
		text = s.Message()
	}
	for _, noise := range []string{"etcdserver: ", "connection error: desc = ", "transport: "} {
		text = strings.ReplaceAll(text, noise, "")
	}
	return sanitize.Cut(strings.Trim(text, `"`), 200)
}

// Unwrap returns the error as it came, and as package rpctypes has it.
func (c cause) Unwrap() []error { return []error{c.error, rpctypes.Error(c.error)} }

// code returns what an error of the client says in gRPC's terms.
func code(err error) codes.Code {
	var server rpctypes.EtcdError
	switch {
	case errors.As(rpctypes.Error(err), &server):
		return server.Code()
	case errors.Is(err, context.DeadlineExceeded):
		return codes.DeadlineExceeded
	}
	return status.Code(err)
}

// isAway reports whether the servers do not do their work, rather than refuse this request.
func isAway(err error) bool {
	switch code(err) {
	case codes.PermissionDenied, codes.Unauthenticated, codes.InvalidArgument, codes.ResourceExhausted,
		codes.FailedPrecondition, codes.NotFound, codes.OutOfRange, codes.Unimplemented:
		return false
	default:
		return true
	}
}

// isSlow reports whether a lease that the servers have just granted had ended before they used it, by an error as it
// came or as explain has it.
func isSlow(err error) bool {
	return errors.Is(err, rpctypes.ErrLeaseNotFound) || errors.Is(rpctypes.Error(err), rpctypes.ErrLeaseNotFound)
}

// isFull reports whether the servers take no more data.
func isFull(err error) bool { return errors.Is(err, rpctypes.ErrNoSpace) }

// isFinal reports whether trying again makes no sense before a person has done something
// to this program's user, password or permissions.
func isFinal(err error) bool {
	switch code(err) {
	case codes.PermissionDenied, codes.Unauthenticated, codes.InvalidArgument:
		return errors.Is(err, ErrRefused)
	default:
		return false
	}
}

// hintFor says what to do about an error. Servers that refuse the certificate of a client
// may just end the connection.
func hintFor(err error, withTLS bool) string {
	text := err.Error()
	switch {
	case isFull(err):
		return "their database is full: compact and defragment it, or raise its quota, then disarm the alarm NOSPACE"
	case errors.Is(rpctypes.Error(err), rpctypes.ErrAuthFailed):
		return "check user and password-file"
	case errors.Is(rpctypes.Error(err), rpctypes.ErrUserEmpty):
		return "they want a user: give user and password-file"
	case strings.Contains(text, "tagbus-directory: ") && code(err) == codes.ResourceExhausted:
		return "change what is announced less often; it is tried again"
	case strings.Contains(text, "tagbus-directory: "): // what a member has refused itself
		return "ask those that administer the directory for the right, which is in --acl, --admin or --member of its members"
	case code(err) == codes.PermissionDenied:
		return "give the user a role that may read and write all keys with this prefix"
	case strings.Contains(text, "x509:"), strings.Contains(text, "tls:"), strings.Contains(text, "server preface"):
		return "check the certificates, and whether the servers talk TLS (etcds://) or not (etcd://)"
	case errors.Is(rpctypes.Error(err), rpctypes.ErrNoLeader), errors.Is(rpctypes.Error(err), rpctypes.ErrLeaderChanged):
		return "more than half of them must be up and see each other; it is tried again"
	case isSlow(err):
		return "they take longer for a request than an entry lasts (expiry): look after their load and their disks; it is tried again"
	case isAway(err) && withTLS:
		return "check whether they are up, whether these are their addresses, and the certificates; it is tried again"
	case isAway(err):
		return "check whether they are up and whether these are their addresses; it is tried again"
	}
	return "look into their log"
}
