// SPDX-License-Identifier: Apache-2.0

package acl

// Kept returns of how many peers the policy keeps what they may do.
func (p *Policy) Kept() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(len(p.peers), len(p.rows))
}
