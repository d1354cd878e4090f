// SPDX-License-Identifier: Apache-2.0

package rec

import "time"

// In returns the time in a recording that begins at a time, or the zero time if there is
// no limit.
func (w When) In(begin time.Time) time.Time { return w.in(begin) }
