// SPDX-License-Identifier: Apache-2.0

// Package fi is a thin layer over libfabric, in libfabric's words: fi_cq_read is
// a method Read of CQ, an fi_info is an [Info]. It is built in with the build tag
// libfabric and cgo; without them it is empty.
//
// It is the one place for cgo, and knows nothing of messages, buffers and
// connections as netio does.
//
// # Crossings
//
// A call from Go to C takes some 25 ns, a post on a network card 50. So posts
// and completions cross in batches: [Ring] is memory of C, filled with [Op]s by
// Go; [Ring.Turn] posts them all, drains any number of completion queues and asks
// whether they may be waited for, in one call. C never calls Go.
//
// A context that libfabric carries for us is an integer, never a pointer of Go.
// Memory that libfabric keeps is registered as an [MR], which pins it.
//
// # Objects
//
//	Fabric ─► EQ                 connection events
//	       ├► PEP                listens
//	       └► Domain ─► CQ       completions
//	                 ├► MR       registered memory
//	                 ├► SRX      receives that endpoints share
//	                 ├► AV       addresses, for endpoints without connection
//	                 └► EP       a connection, or an endpoint without
//
// Children are closed before their parents, each once: with the provider verbs,
// libfabric crashes otherwise. Close of an object that is closed does nothing.
// The receiver of an Info frees it.
//
// # Threads
//
// Objects of one Fabric are used by one goroutine at a time (FI_THREAD_DOMAIN),
// except where a doc comment says otherwise. OpenDomain and the first GetInfo look
// for devices, which one thread of C does for all (lister.c). None of the functions blocks,
// but GetInfo, which may ask the system for addresses.
package fi
