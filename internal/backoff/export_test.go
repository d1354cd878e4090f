// SPDX-License-Identifier: Apache-2.0

package backoff

// Limits of Reminders.
const (
	MaxKeys  = maxKeys
	MaxTexts = maxTexts
)
