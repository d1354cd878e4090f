//go:build !race

// Package race reports whether the race detector is on. It adds allocations and memory
// of its own, so tests that count these ask.
package race

// Enabled reports whether the race detector is on.
const Enabled = false
