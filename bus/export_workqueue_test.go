// SPDX-License-Identifier: Apache-2.0

package bus

import "tagbus/bus/internal/workqueue"

// SetSliceSteps changes the budget of the slices of all work queues, until restore.
func SetSliceSteps(n int) (restore func()) {
	before := workqueue.SliceSteps
	workqueue.SliceSteps = n
	return func() { workqueue.SliceSteps = before }
}
