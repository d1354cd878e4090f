// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// maxHeaders is how many bytes the headers of a request may have, as HTTP/2 counts them. A name and a value that
// were sent before take a byte on the wire, and all of theirs in memory for as long as the request lasts: with
// the default of gRPC, 16 MiB, callers have the memory of a host for half a megabyte.
const maxHeaders = 8 << 10

// withoutVersion returns the context of a request without the version that its caller says it has. Of each text
// etcd makes a series of its metrics, for ever.
func withoutVersion(ctx context.Context) context.Context {
	headers, ok := metadata.FromIncomingContext(ctx) // a copy
	if !ok || headers.Get(rpctypes.MetadataClientAPIVersionKey) == nil {
		return ctx
	}
	headers.Delete(rpctypes.MetadataClientAPIVersionKey)
	return metadata.NewIncomingContext(ctx, headers)
}

// inContext is a stream with another context.
type inContext struct {
	grpc.ServerStream
	ctx context.Context //nolint:containedctx // that of the stream
}

// Context returns it.
func (s inContext) Context() context.Context { return s.ctx }
