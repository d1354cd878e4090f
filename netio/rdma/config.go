// Package rdma is the backend over RDMA fabrics, through libfabric.
//
// It is built in with the build tag libfabric, which needs cgo and the
// development files of libfabric. Without the tag its Opener returns an error
// that says so, and the rest of the program builds and runs without cgo.
package rdma

import "tagbus/netio"

// Config says which fabric to use. The zero value lets libfabric choose.
type Config struct {
	// Config is what all backends have in common.
	netio.Config

	// Provider is the libfabric provider, for example "verbs" or "tcp".
	// Default: the best that the machine has.
	Provider string
}

// name returns the backend's name as the directory writes it.
func (c Config) name() string {
	if c.Provider == "" {
		return "rdma"
	}
	return "rdma:" + c.Provider
}
