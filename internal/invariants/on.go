// SPDX-License-Identifier: Apache-2.0

//go:build invariants

package invariants

// Enabled reports whether backends check their users.
const Enabled = true
