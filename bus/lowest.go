// SPDX-License-Identifier: Apache-2.0

package bus

import "time"

// lowestFor is how long at least a smallest number is shown, longer than Prometheus
// usually waits between two scrapes.
const lowestFor = time.Minute

// lowest is the smallest of the numbers of the last one or two times lowestFor. It lets
// several callers read what the levels below start anew with each reading. The zero
// value is ready.
type lowest struct {
	began           time.Time // of recent
	recent, earlier int       // earlier is of the time before
}

// add notes the smallest number since the call before, and returns the smallest lately.
func (w *lowest) add(now time.Time, n int) int {
	switch age := now.Sub(w.began); {
	case age >= 2*lowestFor: // the numbers before are too old
		*w = lowest{now, n, n}
	case age >= lowestFor:
		*w = lowest{now, n, w.recent}
	default:
		w.recent = min(w.recent, n)
	}
	return min(w.recent, w.earlier)
}
