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

// InTurns calls f for every value of a slice, the last one first, some in each turn of a loop as
// long as that runs, and then calls then. It works without a Queue, at the end of one.
//
//   - post: netio.Loop.Post.
//   - most: values in a turn.
func InTurns[V any](post func(func()) bool, all []V, most int, f func(V), then func()) {
	for n := 0; len(all) > 0; n++ {
		if n == most && post(func() { InTurns(post, all, most, f, then) }) {
			return
		}
		f(all[len(all)-1])
		all = all[:len(all)-1]
	}
	then()
}
