// SPDX-License-Identifier: Apache-2.0

// Package netio is the contract between the bus and its transport backends:
// what a backend may be asked, and what it reports.
//
// A [Backend] owns connections. One side opens a [ListenEndpoint], the other
// opens an active endpoint to its address; the outcome is reported to the
// [Handler] on both sides as an [Endpoint], which is bidirectional and carries
// messages: byte strings of 1 to [ReceiveParams.MaxMessageBytes] bytes that
// arrive whole, in order and unchanged, or not at all.
//
// # Sending
//
// Every send is asynchronous, except a [Endpoint.SendDirect] that returns true: it
// is done and reports nothing. Any other method that returns no error has accepted
// the message; its [Key] is then reported exactly once: by
// [Handler.OnSendCompleted] when the memory may be used again, or in the list
// of keys of [Handler.OnConnectionClosed] when the connection ended first. A
// method that returns an error has accepted nothing and reports nothing later.
// [ErrNoResources] means that the same call may succeed after the next
// completion or [Handler.OnSendReady]; any other error means that it will not.
//
// There are four ways to send:
//
//   - buffered: fill a [Buffer] from [Endpoint.Buffer] and pass it on with
//     [Endpoint.SendBuffer];
//   - zero-copy: [Endpoint.Send] borrows the caller's memory until the
//     completion;
//   - immediate: [Endpoint.SendCopy] copies and returns the memory at once;
//   - direct: [Endpoint.SendDirect] hands the message to the system on the
//     caller's goroutine if nothing is before it, and otherwise does what Send does.
//
// # Threads
//
// A backend lives on one [Loop]. The Handler is called on that loop only,
// never concurrently, and never from inside a call that the user makes into
// the backend: so the user may hold a lock of its own during such a call, and
// may call any method from inside any callback. A callback must not block.
// A backend's methods may be called from any goroutine, unless its Config says
// [Unsafe].
//
// # Ownership
//
// Memory has one owner at a time: pool → user → backend → completion → pool.
// Bytes passed to [Handler.OnData] belong to the backend and are valid until
// the callback returns.
//
// # Backends
//
// A user of a backend needs only what is above. For backends, a [Pool] of send
// buffers tells when one is free ([Pool.OnFree], [Pool.AwaitFree]), a [Buffer]
// changes hands ([Buffer.MarkSent], [Buffer.UnmarkSent], [Buffer.ReleaseSent]),
// and a [Config] checks parameters and fills in their defaults
// ([Config.ListenParams], [Config.EndpointParams]).
//
// # Checks
//
// A build with the tag invariants finds programs that break these rules. It
// overwrites the bytes of a message when OnData has returned. It compares checksums
// of zero-copy data at the send and when its key is reported, and ends the process if
// they differ. It panics when a method of an Unsafe backend is called off its loop.
//
// Source: netio3-backend, "Network communication".
package netio
