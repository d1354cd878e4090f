//go:build !race

package tests

// Race reports whether the race detector is on.
const Race = false
