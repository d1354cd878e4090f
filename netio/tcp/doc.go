// SPDX-License-Identifier: Apache-2.0

// Package tcp is the netio backend for TCP over IPv4 and IPv6.
//
// # Frame
//
// A connection carries frames in both directions, back to back, from the first
// byte on. There is no greeting and no padding.
//
//	offset  bytes  content
//	0       4      n, the length of the message: unsigned, little-endian
//	4       n      the message: the header given to Send, then its data
//
// n is 1 to Params.Receive.MaxMessageBytes of the receiving side, and 1 to
// Params.Receive.FirstMessageBytes for the first frame. Any other n ends the
// connection with netio.ErrMessageLength, before anything is allocated for it.
// The first four bytes of other protocols make a large n: "GET " 542,393,671,
// a TLS 1.x hello 66,326 or more. With a small FirstMessageBytes such a stranger
// is disconnected at once.
//
// A connection that ends behind a frame ends in order (io.EOF); one that ends
// within a frame is netio.ErrTruncated, and the part is discarded.
//
// # Receiving
//
// All endpoints of a backend read into one piece of memory, the scratch, and
// OnData gets messages where they lie in it. What is left of a frame at the end
// of an endpoint's turn moves to memory of its own, so that an idle endpoint
// holds none; up to 8 KiB are copied, for more the endpoint keeps the scratch
// and the backend takes another one. Large frames are read to their end and not
// further than the next length, so nothing has to be moved to make room. See
// receiver.go.
//
// With receive buffers, of an endpoint (ReceiveParams.Buffers), of all that a
// listen endpoint accepts (ReceiveParams.Shared) or of all endpoints of the
// backend (Config.SharedReceive), the memory is fixed. An endpoint takes a
// buffer, reads into it, and gives it back when no part of a message is left in
// it. If none is free it waits in line, and unread bytes stay in the system.
//
//   - A shared buffer holds the largest message and its length, and no less than
//     4 KiB, rounded up to 64 bytes. One read takes all the small messages that
//     fit: buffers larger than the messages are faster than many small ones. The
//     buffers of one endpoint are one piece, to which it reads.
//   - An endpoint that has used up its turn (see Limits) while others wait completes
//     the message that it has begun and goes to the end of the line.
//   - A peer that stops in the middle of a message, and so keeps others waiting,
//     is disconnected after 2 s. Nothing ends a user's pause
//     but the user: as many endpoints as there are buffers, paused between two messages
//     of one read, hold up the rest.
//   - A connection that breaks while its endpoint waits ends when a buffer has
//     come and what was received before is delivered, or after 2 s.
//
// See receive_pool.go.
//
// # Sending
//
// A send puts an entry in the endpoint's queue and returns; the loop hands all
// that has gathered to the system, up to 1,024 pieces of memory in one call, at
// the end of its turn. It calls first, and waits for the socket to become
// writable only when the system has taken less than all. See queue.go and
// flush.go, and package handover for how the calls of any goroutine become work
// of the loop.
//
// SendDirect makes the system call by itself if all that was sent before is
// completed, and the message has at most 20 pieces of data. The loop goes on with
// what the system does not take, and reports all ends, as always. An endpoint whose
// messages all go this way allocates no queue. See direct.go.
//
// A connection within the host does not pace: its algorithm is "reno", whatever
// that of the system is. See Config.CongestionControl.
//
// # TLS
//
// With Config.TLS the backend is named "tls", and all of the above is inside of TLS 1.3: the
// stream of frames is the application data. The side that accepts sends four zero bytes
// before its first frame: "let in". An end in order has a close_notify.
//
// The handshake runs in a goroutine, see tls_wire.go and tls_desk.go; then the loop owns
// the tls.Conn, see tls_step.go and tls_flush.go. Before the handler knows the
// endpoint, both sides have verified each other (netio.Authenticated).
//
// The first bytes show who uses the wrong backend: a ClientHello begins 16 03 01 to 04,
// and a plain first frame is too short for that. A plain listener answers a ClientHello with the
// alert protocol_version. A listener with TLS answers plain bytes with a text whose
// beginning, "TLS ", is the length of no message.
//
// # Limits
//
//   - An endpoint reads up to 256 KiB, less if many are busy, and writes about 1 MiB,
//     before the others get their turn. The end of a message that it has begun counts up
//     to 1 MiB more. When all of them have moved 8 MiB, the loop looks for other events.
//     See turn_budget.go.
//   - More than Config.MaxEndpoints accepted connections, and those for which
//     the process has no descriptor, are closed at once, counted in
//     Stats.AcceptShed and logged.
//   - A silent peer is given up after Config.UserTimeout.
//
// The package is for Linux.
//
// Source: netio3 asyncmsg backend.
package tcp
