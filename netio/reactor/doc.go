// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package reactor decides whose turn it is: an event loop on epoll that calls
// functions when file descriptors are ready, timers expire, signals are fired
// and functions are posted to it. It runs on Linux only.
//
// # Threads
//
// One goroutine, the one that calls Run, is the loop. Every callback runs there
// and nowhere else: never two at once, never one inside another. So what
// belongs to the loop needs no lock. From other goroutines a loop is reached by
// Post, Signal.Fire, Timer.Start and Timer.Stop, and Stop; they never block.
//
// # Turn
//
// Run calls Config.Init, then goes round until it is stopped:
//
//  1. Wait: ask epoll for at most MaxEvents ready descriptors. If step 5 or 6
//     said that there is more to do, only look; else block, after spinning for
//     BusyPoll if that is set, in which each Watch is called, too. Arm is called just before
//     it blocks. The longer the loop blocks, the less it costs:
//     an idle loop does not wake up.
//  2. Events: call Source.OnEvent of each ready descriptor, once. The kernel
//     keeps the rest in a queue, so that all ready descriptors are served round
//     robin, none twice before each was served once.
//  3. Signals: call once each signal that still has fires to answer.
//  4. Posts: run posted functions in the order in which they came, at most 256
//     a turn. What they post themselves runs in a later turn.
//  5. Prepare: call each PrepareWait. It is the end of the turn: what the
//     callbacks of the turn have batched is flushed here.
//  6. Stop: leave if Stop was called or the context is done.
//
// When it leaves, Run takes no more posts, runs those that it has accepted,
// and does step 5 a last time. So an accepted post always runs.
//
// # Rules for callbacks
//
//   - Never block, sleep, or wait for another goroutine. Everything else on the
//     loop waits meanwhile. A watchdog reports callbacks that do (Config.OnStall).
//   - Do a bounded amount of work: read no more than a budget, and leave the
//     rest to the next turn.
//   - To poll, fire a signal from inside its own callback: the loop serves all
//     others in between.
//   - A callback may do anything to the loop and to any source, timer and signal,
//     its own included: register, close, start, stop. What it has closed is
//     not called again, even if its event has already been fetched, and even if
//     its descriptor number has been given to another file in the meantime.
//   - Return or panic, and do not call runtime.Goexit (testing.T.FailNow does):
//     it ends the goroutine, and with it the loop. See Run.
//   - A callback that panics is reported (Config.OnPanic) and counted, and the
//     loop lives. A source that panics is dropped; a timer,
//     a signal and a PrepareWaiter of its own stay.
//
// # Descriptors
//
// Each has one owner, which opens it with CLOEXEC, and closes it: the loop its
// epoll descriptors and, with WaitThread, an eventfd to be woken by, a Timer and a
// Signal their own, the user those of sources. Close a Registration first, its
// descriptor after that, and both on the loop: closing a descriptor number that another
// part of the program is about to use is the one mistake that nothing can detect.
//
// # Reading the code
//
// The files in the order in which an event passes them: poller.go (step 1),
// wake.go (its end by other goroutines), turn.go (the turn), registration.go and table.go (token to source), signal.go,
// timer.go, post.go. Beside them: eventloop.go (life of the loop), guard.go
// (panics), goexit.go, watchdog.go (stalls), stats.go.
package reactor
