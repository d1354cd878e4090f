// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/binary"
	"io"
	"math"
)

// clocks follows the blocks of a pcapng file for what the library hides: an interface that
// counts whole seconds, which the library takes for one that counts microseconds.
type clocks struct {
	r       io.Reader
	seconds bool // there was such an interface

	order binary.ByteOrder // of the section
	block []byte           // the beginning of the block
	want  int              // bytes of it that are to be in block
	skip  int              // bytes of it behind those
}

const (
	blockInterface = 1
	blockHeadBytes = 12 // type, length, and of a section its byte order
	byteOrderMagic = 0x1a2b3c4d

	interfaceBytes = 16 // of an interface before its options
	lengthAgain    = 4  // bytes behind them

	optionHeadBytes  = 4
	optionResolution = 9 // if_tsresol
)

func newClocks(r io.Reader) *clocks {
	return &clocks{r: r, order: binary.LittleEndian, want: blockHeadBytes}
}

// Read reads from r. What the library cannot read either ends the following, not the
// reading.
func (c *clocks) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	for b := p[:n]; len(b) > 0; {
		if len(c.block) < c.want {
			n := min(c.want-len(c.block), len(b))
			c.block, b = append(c.block, b[:n]...), b[n:]
			if len(c.block) == c.want {
				c.have()
			}
		} else {
			n := min(c.skip, len(b))
			c.skip, b = c.skip-n, b[n:]
		}
		if len(c.block) == c.want && c.skip == 0 {
			c.block, c.want = c.block[:0], blockHeadBytes
		}
	}
	return n, err
}

// have looks at the part of the block that was wanted.
func (c *clocks) have() {
	if c.want > blockHeadBytes {
		c.options(c.block[interfaceBytes : len(c.block)-lengthAgain])
		return
	}
	kind := c.order.Uint32(c.block)
	if kind == magicSection { // the same in both orders
		if c.order = binary.ByteOrder(binary.LittleEndian); c.order.Uint32(c.block[8:]) != byteOrderMagic {
			c.order = binary.BigEndian
		}
	}
	size := int(c.order.Uint32(c.block[4:]))
	switch {
	case size < blockHeadBytes:
		c.skip = math.MaxInt // damaged
	case kind == blockInterface && size > interfaceBytes+lengthAgain && size <= budgetExtra:
		c.want = size
	default:
		c.skip = size - blockHeadBytes
	}
}

// options looks for the resolution among the options of an interface.
func (c *clocks) options(b []byte) {
	for len(b) > optionHeadBytes {
		code, size := c.order.Uint16(b), int(c.order.Uint16(b[2:]))
		if code == optionResolution && size > 0 {
			c.seconds = c.seconds || b[optionHeadBytes] == 0
		}
		b = b[min(len(b), optionHeadBytes+(size+3)&^3):]
	}
}
