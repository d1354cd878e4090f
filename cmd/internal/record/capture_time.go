// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"math/bits"
	"time"
)

// resolution is the step of the times of an interface, as if_tsresol of pcapng has it: a
// negative power of ten, or of two if the highest bit is set.
type resolution uint8

// isBinary is the bit of powers of two.
const isBinary resolution = 0x80

// String returns the step in seconds.
func (r resolution) String() string {
	if r&isBinary != 0 {
		return fmt.Sprintf("2^-%d", r&^isBinary)
	}
	return fmt.Sprintf("10^-%d", r)
}

// The largest exponents, of which a second has less than 2^64 steps.
const (
	maxDecimal = 19
	maxBinary  = 63
)

// steps returns how many steps a second has; 0: more than can be counted.
func (r resolution) steps() uint64 {
	e := r &^ isBinary
	switch {
	case r&isBinary != 0 && e <= maxBinary:
		return 1 << e
	case r&isBinary == 0 && e <= maxDecimal:
		n := uint64(1)
		for range e {
			n *= 10
		}
		return n
	}
	return 0
}

// moment is a time as a capture has it.
type moment struct {
	known      bool
	resolution resolution
	seconds    int64  // since 1970
	ticks      uint64 // steps behind them
}

// nanosecond returns the second and the nanosecond, to which it rounds, and whether it did.
func (m *moment) nanosecond() (second, nanosecond uint64, rounds bool) {
	steps := m.resolution.steps()
	if steps == 0 {
		return 0, 0, false
	}
	second = m.ticks / steps
	high, low := bits.Mul64(m.ticks%steps, uint64(time.Second))
	nanosecond, rest := bits.Div64(high, low, steps) // high < steps, since the product is below steps*10^9
	if rest >= steps-rest {
		nanosecond++
	}
	if nanosecond == uint64(time.Second) {
		second, nanosecond = second+1, 0
	}
	return second, nanosecond, rest > 0
}

// rounds reports whether the time is between two nanoseconds.
func (m *moment) rounds() bool {
	_, _, rounds := m.nanosecond()
	return m.known && rounds
}

// time returns the time; that of 1970 if it is not known.
//
//   - Errors: ErrClock, wrapped.
func (m *moment) time() (time.Time, error) {
	if !m.known {
		return time.Unix(0, 0), nil
	}
	if m.resolution.steps() == 0 {
		return time.Time{}, fmt.Errorf("%w: its interface counts in steps of %v s, which no clock does", ErrClock, m.resolution)
	}
	second, nanosecond, _ := m.nanosecond()
	const most = 2 * maxTime // sums of these do not overflow
	sum := int64(-1)
	if second < uint64(most) && m.seconds < most && m.seconds > -most {
		sum = m.seconds + int64(second)
	}
	if sum < 0 || sum >= maxTime {
		return time.Time{}, fmt.Errorf("%w: it is outside of 1970 to 2262: %d steps of %v s, and %d s", ErrClock, m.ticks, m.resolution, m.seconds)
	}
	return time.Unix(sum, int64(nanosecond)), nil
}
