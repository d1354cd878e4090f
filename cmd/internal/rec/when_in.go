// SPDX-License-Identifier: Apache-2.0

package rec

import "time"

// In returns the time in a recording that begins at a time, or the zero time if there is
// no limit.
func (w When) In(begin time.Time) time.Time { return w.in(begin) }

// Absolute returns the time if it depends on no recording, or the zero time if there is no limit.
// ok is false if it does.
func (w When) Absolute() (at time.Time, ok bool) { return w.at, w.kind == absolute || w.kind == noTime }
