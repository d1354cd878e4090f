// SPDX-License-Identifier: Apache-2.0

package workqueue

// Each returns a job that calls f for every value of a slice, the last one first.
func Each[V any](all []V, f func(V) (steps int)) Job {
	return func(budget int) (steps int, done bool) {
		for ; len(all) > 0 && steps < budget; all = all[:len(all)-1] {
			steps += f(all[len(all)-1])
		}
		return steps, len(all) == 0
	}
}
