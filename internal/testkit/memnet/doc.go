// SPDX-License-Identifier: Apache-2.0

// Package memnet is a network in memory for tests of what stands on netio.
//
//   - [Network] is a transport that keeps the whole contract of netio and fails
//     on demand: its connections can be stalled, delayed, partitioned, reset and
//     refused, its backends killed.
//   - [Loop] is a netio.Loop without file descriptors.
//   - [FailNth] makes the Nth call into a backend, of whatever kind, fail.
//
// A test gives each process a host of the network, and then breaks what it wants:
//
//	synctest.Test(t, func(t *testing.T) {
//		network, loop := memnet.New(), memnet.NewLoop()
//		defer loop.Close()
//		host := netip.MustParseAddr("10.0.0.1")
//		backend, err := network.Opener(loop, memnet.Config{Host: host})(handler)
//		// ...
//		network.Kill(host)
//		time.Sleep(time.Minute) // takes no time in the bubble
//		synctest.Wait()
//		// ...
//	})
//
// # Threads
//
// Every function and method may be called on any goroutine, and inside callbacks,
// except where its comment restricts it. A Handler is called on the loop of its
// backend. Backends may share a loop, and then a test that calls from one
// goroutine sees the same order in every run.
//
// # Time
//
// All waiting is done with timers of package time. In a testing/synctest bubble
// the clock is fake: an hour passes as soon as nothing is left to do before its
// end. Elsewhere time is real.
//
// Backends are tested with package netiotest, which this one passes like any
// other. No program imports either.
package memnet
