// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"time"

	"tagbus/netio"
)

// SetClock sets the clock of a listen endpoint. Threads: the loop.
func SetClock(l netio.ListenEndpoint, now func() time.Time) {
	l.(*listenEndpoint).trouble.Clock = now
}

// WithMaxStrangers returns c with a limit for connections that have not shown a certificate.
func WithMaxStrangers(c Config, n int) Config {
	c.maxStrangers = n
	return c
}
