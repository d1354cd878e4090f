// SPDX-License-Identifier: Apache-2.0

// Package objects implements the functions of the C library, and the objects that its handles stand
// for. It is all of libtagbus-core.so except what C needs to call it (package core), and is plain Go.
//
// A handle is a place in a [Table], never an address. Functions find NULL, closed and foreign
// handles, and say what is wrong in the words of tagbus.h. Options are read as command lines are.
//
// What has callbacks is an [Owner]. Its callbacks run on a thread of the library, which fetches them
// by [Owner.Work] and waits for a bell otherwise, or, with --on-loop, on the event loop.
package objects
