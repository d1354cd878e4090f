// SPDX-License-Identifier: Apache-2.0

package jetstream

import "time"

// SetInactive sets how long the servers keep the place of a reader that asks for nothing.
func (l *Log) SetInactive(d time.Duration) { l.inactive = d }
