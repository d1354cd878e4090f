// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"time"

	"golang.org/x/term"

	"tagbus/internal/stream"
)

// Live sets what the renewed line says: what is most useful first, for what the terminal
// has no room for is cut off.
func (c *Console) Live(line func() string) { c.live.Store(&line) }

// Waiting returns a renewed line about what is waited for.
func Waiting(since time.Time, what string) string {
	return fmt.Sprintf("waiting %v for %s", time.Since(since).Round(time.Second), what)
}

// fit cuts a line off where the terminal would wrap it: what is wrapped cannot be
// cleared.
func fit(line string, to io.Writer) string {
	f := stream.File(to)
	if f == nil {
		return line
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if runes := []rune(line); err == nil && width > 0 && len(runes) >= width {
		return string(runes[:width-1])
	}
	return line
}
