// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package screen shows something that changes on a terminal, and reads the keys that are
// pressed meanwhile.
//
// A [Terminal] is in raw mode and shows its alternate screen until it is closed. It is
// drawn in whole frames, of which only the lines that differ are written, in one call. A
// [Parser] makes keys of what is typed.
//
// Imports: golang.org/x/term and golang.org/x/sys/unix.
package screen

import (
	"slices"
	"strconv"
)

// Sequences. Wrapping is off, so that a line that is wider than thought disturbs no other.
const (
	enter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H\x1b[2J"
	leave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l"
)

// Canvas remembers what a terminal shows, and says how to make the next frame of it.
//
// The zero value is an empty one of which nothing is known. Threads: one.
type Canvas struct {
	shown []string
	known bool
	bytes []byte
}

// Forget makes the next frame a whole one: what the terminal shows is not known.
func (c *Canvas) Forget() { c.known = false }

// Frame returns the bytes that make a terminal show lines, from its top. They are valid
// until the next call; none means that it shows them.
//
//   - lines: as many as the terminal has at most, each no wider than it. They may have
//     sequences that change the style.
func (c *Canvas) Frame(lines []string) []byte {
	b := c.bytes[:0]
	if !c.known {
		b = append(b, "\x1b[0m\x1b[H\x1b[2J"...)
		c.shown = c.shown[:0]
	}
	for i := range max(len(lines), len(c.shown)) {
		line, was := "", ""
		if i < len(lines) {
			line = lines[i]
		}
		if i < len(c.shown) {
			was = c.shown[i]
		}
		if line == was {
			continue
		}
		b = append(b, "\x1b["...)
		b = strconv.AppendInt(b, int64(i+1), 10)
		b = append(b, ";1H\x1b[2K"...)
		b = append(b, line...)
		b = append(b, "\x1b[0m"...)
	}
	c.shown = append(c.shown[:0], slices.Clone(lines)...)
	c.known = true
	c.bytes = b
	return b
}
