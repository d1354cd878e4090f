// SPDX-License-Identifier: Apache-2.0

package goroutine

// Self returns a number that no other goroutine has while the calling one lives; one that
// begins when it has ended may have the same. It takes a nanosecond, where ID writes down
// the stack, whose depth it costs.
func Self() uint64
