// SPDX-License-Identifier: Apache-2.0

// Package handover is what the backends on an event loop have in common, whose users
// call from any goroutine: it turns calls into work of the loop, and hands the answers
// back. What crosses a network, and how, is the backend's.
//
//   - Backend: the steps of a backend, its addresses, and its Close.
//   - Endpoint, ListenEndpoint: the calls that queue, answer, or schedule work.
//   - Queue: which sends are accepted, and which are completed.
//   - Worklist: the work for the end of the turn.
//   - Refusals: the calls that found no room, until they are answered.
//   - Counters: the numbers in netio.Stats.
//
// # Lost wake-ups
//
// Two goroutines meet in many places without a common lock: one waits for room, or for
// work, and the other one makes it. The rule is always the same. The waiting side sets
// its mark, then checks the condition again. The other side changes the condition, then
// checks for the mark. Both use atomic operations, which have one order for all
// goroutines. Whichever side comes second in it sees what the first one did: either the
// waiting side finds the room, or the other side finds the mark. So no wake-up is lost.
// Both may see each other; then one of them takes the mark back.
package handover
