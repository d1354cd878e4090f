//go:build invariants

package invariants

// Enabled tells whether backends check their users.
const Enabled = true
