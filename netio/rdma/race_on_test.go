//go:build race && libfabric && cgo

package rdma_test

// raceBuild tells that the race detector watches.
const raceBuild = true
