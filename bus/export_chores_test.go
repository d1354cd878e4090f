// SPDX-License-Identifier: Apache-2.0

package bus

import "tagbus/bus/internal/chores"

// SetSliceSteps changes the budget of the slices of all chores, until restore.
func SetSliceSteps(n int) (restore func()) {
	before := chores.SliceSteps
	chores.SliceSteps = n
	return func() { chores.SliceSteps = before }
}
