// SPDX-License-Identifier: Apache-2.0

package subscription

// LimitedTable returns a table with lower limits; 0 means the usual one.
func LimitedTable(parts, masks int) Table { return Table{partLimit: parts, maskLimit: masks} }

// Len returns the number of lanes that want anything.
func (t *Table) Len() int { return len(t.order) }
