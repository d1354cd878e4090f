//go:build !race

package netio_test

// raceBuild reports whether the race detector watches, so that regions come from
// the Go heap and allocations are not counted.
const raceBuild = false
