//go:build !race && libfabric && cgo

package rdma_test

// raceBuild reports whether the race detector watches.
const raceBuild = false
