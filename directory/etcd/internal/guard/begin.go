// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"time"

	"google.golang.org/grpc/tap"
)

// patience is how long a request with one message may be on its way, from its first byte to its last.
const patience = 30 * time.Second

// onItsWay is the key of the timer of a request in its context.
type onItsWay struct{}

// begin gives a request that begins its time. gRPC would wait for the rest of it for ever.
func begin(ctx context.Context, _ *tap.Info) (context.Context, error) {
	limited, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(patience, cancel)
	context.AfterFunc(ctx, func() { timer.Stop() })
	return context.WithValue(limited, onItsWay{}, timer), nil
}

// arrived says that a request is there, or that it is one with many messages.
func arrived(ctx context.Context) {
	if timer, ok := ctx.Value(onItsWay{}).(*time.Timer); ok {
		timer.Stop()
	}
}
