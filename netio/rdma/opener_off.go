// SPDX-License-Identifier: Apache-2.0

//go:build !libfabric || !cgo

package rdma

import (
	"fmt"

	"tagbus/netio"
	"tagbus/netio/reactor"
)

// OpenerOn is Opener.
func OpenerOn(loop *reactor.EventLoop, _ []*reactor.EventLoop, cfg Config) netio.Opener {
	return Opener(loop, cfg)
}

// Opener returns an Opener that fails, because this program was built without
// libfabric.
//
// Errors of the Opener: netio.ErrNotBuiltIn, wrapped with what to do.
func Opener(_ *reactor.EventLoop, cfg Config) netio.Opener {
	return func(netio.Handler) (netio.Backend, error) {
		return nil, fmt.Errorf("%w: %s: %s, or use the backend tcp", netio.ErrNotBuiltIn, cfg.name(), toInstall)
	}
}
