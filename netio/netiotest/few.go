package netiotest

import "testing"

// Few returns how much of something a test takes: all, or less with -short, which
// is for a device that is slow, as one is that is emulated in an emulated machine.
func Few[T any](all, short T) T {
	if testing.Short() {
		return short
	}
	return all
}
