//go:build race

package netiotest_test

// raceBuild tells that the race detector watches.
const raceBuild = true
