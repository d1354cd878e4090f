// SPDX-License-Identifier: Apache-2.0

package emulate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"tagbus/cmd/internal/units"
)

// Sizes is a range of message sizes in bytes, both included.
type Sizes struct{ Min, Max units.Bytes }

// maxSize is the largest size, the most that a message's header can say.
const maxSize = 1 << 30

// UnmarshalText reads SIZE or MIN-MAX.
//
//   - Errors: one that wraps ErrSizes.
func (s *Sizes) UnmarshalText(text []byte) error {
	least, most, isRange := strings.Cut(string(text), "-")
	if !isRange {
		most = least
	}
	var r Sizes
	err := r.Min.UnmarshalText([]byte(least))
	if err == nil {
		err = r.Max.UnmarshalText([]byte(most))
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w: %q: %w", ErrSizes, text, err)
	case r.Min > r.Max:
		return fmt.Errorf("%w: %q: want the smaller size first", ErrSizes, text)
	case r.Max > maxSize:
		return fmt.Errorf("%w: %q: want at most %d bytes", ErrSizes, text, maxSize)
	}
	*s = r
	return nil
}

// Generator makes messages. Their sizes are random within the range, and the
// same in every run.
//
// Threads: one at a time.
type Generator struct {
	sizes  Sizes
	random *rand.Rand
	block  []byte
	saved  [StampedBytes]byte // what the message returned before has overwritten
	stamp  bool
	at     int
	dirty  int
}

// NewGenerator returns a generator of messages of sizes within s.
func NewGenerator(s Sizes) *Generator {
	return &Generator{sizes: s, random: rand.New(rand.NewPCG(2, 0)), block: newBlock(int(s.Max))}
}

// Stamp makes the messages to come carry the time at which they are made.
func (g *Generator) Stamp() { g.stamp = true }

// Next returns the message with a counter, valid until the next call.
//
//   - Allocates: no.
func (g *Generator) Next(counter uint64) []byte {
	copy(g.block[g.at:], g.saved[:g.dirty])
	size := int(g.sizes.Min)
	if g.sizes.Max > g.sizes.Min {
		size += g.random.IntN(int(g.sizes.Max-g.sizes.Min) + 1)
	}
	// The header is written where the pattern begins, and the block mended
	// with the next message: nothing is copied but the header.
	g.at = int(counter % patternStarts)
	message := g.block[g.at : g.at+size]
	g.dirty = copy(g.saved[:], message)
	var stamp time.Time
	if g.stamp {
		stamp = time.Now()
	}
	seal(message, counter, stamp)
	return message
}
