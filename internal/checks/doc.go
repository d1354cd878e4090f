// SPDX-License-Identifier: Apache-2.0

// Package checks holds the tests of the tree as a whole: which package may import which, what
// documents promise and name, how the text reads, and which licences the files carry.
//
// It has no code of its own.
package checks
