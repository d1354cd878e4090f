// SPDX-License-Identifier: Apache-2.0

package invariants

// SetCrash replaces what ends the process, until undo.
func SetCrash(f func(text string)) (undo func()) {
	old := crash
	crash = f
	return func() { crash = old }
}
