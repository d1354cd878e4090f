// Package netiotest tests what stands on netio and what stands below it.
//
// For users of a transport (the bus) it has
//
//   - [Loop], a virtual netio.Loop that works inside a testing/synctest
//     bubble, where time is fake and a second costs nothing;
//   - [Network], a transport in memory that keeps the whole contract of netio
//     and can be stalled, partitioned, reset, killed and slowed down;
//   - [FailNth], a wrapper that makes the Nth call into a backend fail.
//
// For authors of a transport it has
//
//   - [Run], the contract as a suite of tests that every backend passes;
//   - [RandomRun], a random walk that is compared with a model;
//   - [CheckLeaks], which compares goroutines and file descriptors.
//
// The package is for tests only: nothing of the product imports it.
package netiotest
