// SPDX-License-Identifier: Apache-2.0

// Package site simulates a bus as large as a site in its tests.
//
// The site is one of detector readout: 350 hosts with 24 links each, and 500 programs that
// read from them. Its processes run in the process of the test, each with a loop of its own,
// on the network of internal/testkit/memnet and with the fake clock of testing/synctest.
//
// Each loop is as if on a processor of its own: the time that a processor took for a step of
// the loop passes on the fake clock before the next step begins, in multiples of 100 µs. So
// the times of the site are about those of as many hosts, however few processors the test
// has. Messages take 100 µs between hosts, whatever their size. The directory is
// bus/directory/memory, which takes no time. What a real one takes is added in
// docs/scaling.md, which has the results.
//
//	make site    all of it, in some minutes; make test has a tenth
package site
