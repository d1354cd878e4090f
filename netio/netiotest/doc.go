// SPDX-License-Identifier: Apache-2.0

// Package netiotest tests what stands below netio: the backends.
//
//   - [Run] is the contract of package netio as a suite of tests, one subtest
//     per sentence. Every backend passes it.
//   - [RandomRun] is a random walk over several backends, compared with a model.
//   - [CheckLeaks] compares goroutines and file descriptors before and after a
//     test.
//
// A test of a backend describes it in a [Suite] and runs both:
//
//	func TestConformance(t *testing.T) {
//		s := netiotest.Suite{
//			Open: func(t netiotest.TB, cfg netio.Config, h netio.Handler) netio.Backend {
//				loop := startLoop(t)
//				b, err := mine.Opener(loop, mine.Config{Config: cfg})(h)
//				if err != nil {
//					t.Fatalf("open: %v", err)
//				}
//				t.Cleanup(func() { _ = b.Close() })
//				return b
//			},
//			ListenAddr:   netip.MustParseAddrPort("127.0.0.1:0"),
//			Capabilities: netio.Capabilities{Receive: true, Buffered: true},
//		}
//		netiotest.Run(t, s)
//		netiotest.RandomRun(t, s)
//	}
//
// # Threads
//
// The suite runs on the goroutine of its test and on others that it starts, and
// the backends on the loops that Open gives them: one loop for all or one each.
// A backend that is netio.Unsafe is called on its loop only.
//
// # Time
//
// Nothing in the suite sleeps. What must happen has Suite.Patience, which only a
// test that fails uses up. What must not happen is looked for after traffic that
// would have come later. So the suite runs in real time, and in a
// testing/synctest bubble if the backend can live there.
//
// Tests of what stands on netio, the bus, use package memnet instead. No program
// imports either.
package netiotest
