// SPDX-License-Identifier: Apache-2.0

package overview

// Share is how much of its limit a queue holds: 0 to 1.
type Share float64

// UnknownShare is that of a queue that is at the other side: of a sender, as a receiver knows
// it.
const UnknownShare Share = -1

// Known reports whether there is a share.
func (s Share) Known() bool { return s >= 0 }

// IsZero reports whether JSON leaves the share out: it is not known.
func (s Share) IsZero() bool { return !s.Known() }
