// SPDX-License-Identifier: Apache-2.0

package writer

// SetStep says how many chains, or records, a writer looks at before others have the lock.
func (c *Config) SetStep(n int) { c.step = n }
