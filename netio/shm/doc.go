// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package shm is the netio backend for processes of one host, which exchange messages
// through shared memory.
//
// # Addresses
//
// An address is a name: the listen endpoint on 10.0.0.1:1337 is a Unix socket of this
// name in Config.Folder, and an endpoint to this address connects to it. Nothing else of
// the network has a part in it. Every process that may use the folder may connect; both ends know
// which process the other one is (netio.LocalPeer). A process that is killed leaves the
// name at most. It is replaced by the next one that listens on the address, and removed by
// the next one that listens in the folder. See folder.go.
//
// # Memory
//
// Each side of a connection has a segment that it alone can write: a page with positions,
// a ring of descriptors, and an arena for bytes that are copied (layout.go). The other side
// maps it for reading. With the greetings on the socket the sides exchange the files of
// their segments, and of the region that they lend (greeting.go). A file has seals, so that
// it never changes its size and no one but its owner can write it, and all of its memory is
// there before it is given away: that of a region is committed for the first peer that has
// introduced itself, in steps between which the loop turns, and each that comes
// meanwhile waits (commit.go). The receiver checks that before it maps the file. So no access faults, and no
// process relies on what another one can write, except where it says so: each word is
// read once and checked (descriptor.check, reader.look, writer.look). A peer that
// breaks the rules ends its own connection, with ErrProtocol or netio.ErrMessageLength.
//
// # Certificates
//
// With Config.TLS both sides show certificates before any memory is given away: a handshake of TLS 1.3 on the socket, computed
// beside the loop (secure.go). Behind it each side says which user it is and which files its memory is (bond.go),
// and the other one compares that with what the system says. Another process that only passes on what it gets is
// found so: ErrOtherProcess, or ErrUserNamespace where users cannot be compared. Nothing else is encrypted.
//
// # Sending
//
// A message is one descriptor or several. Up to 40 bytes stand in the descriptor. A piece of
// 1 KiB or more in Params.ZeroCopy.Region is lent if the region is one of
// netio.AllocSharedRegion: the descriptor says where it is. Everything else is copied to
// the arena, in parts if it is more than half of it. A sender does this on its own
// goroutine if there is room and nothing waits before it, and the loop later otherwise.
// SendDirect copies up to 16 KiB, or half of the arena if that is less, and is done.
//
// What was copied is completed at once, and what was lent when the other side has read
// it. It is read in the order of sending, so completions are in this order, too.
//
// # Receiving
//
// A message of one piece is delivered where it lies, and so is one with a header before it, to
// a netio.PartsHandler. The header stands in the descriptor, of which this side has a copy. Any
// other header, several pieces, and a message of which not all is there, are copied together
// first, as one message is one slice. In a build with the tag invariants all are.
//
// What is delivered where it lies belongs to the sender, and a hostile one may change it
// at any time: a handler reads each length once, to a local variable, and checks that.
// Writing to it is a fault of the process that writes. Retain cannot keep it: it returns
// netio.ErrNoResources, and from then on the endpoint receives into memory of its own,
// which Retain keeps.
//
// # Waking
//
// A side that has read all looks again in each turn of its loop, and while that spins
// (reactor.Config.BusyPoll). Before the loop blocks it says that it sleeps, and looks once more; the other one publishes,
// and then looks whether it sleeps. One that sleeps is woken by a byte on the socket.
// While both sides have work neither makes a call of the system. A sender says at which position of
// the reader it wants to be woken: with much outstanding that is a quarter of it.
//
// The byte goes through the socket and not through an eventfd or a pipe, because the ends of a
// socket belong to one process each. The flags of an eventfd are those of all who have it:
// a peer could make it block, fill it, and stop the loop of the other side with its next
// wake-up.
//
// # The end
//
// A side that closes says up to where the other one may read: everything but what is lent
// and not read. What the other side looks at just then is still lent: the
// endpoint waits until it has turned away, up to half a second, before it reports the keys.
// A process that stands still for longer, inside a handler or stopped by a signal, may
// see this memory change under its eyes when its owner uses it again. It reads no other
// memory of the owner than the region, and it stops before its next message.
//
// A process that ends without closing shows by its socket. What it has published whole is
// delivered first.
//
// # Limits
//
//   - An endpoint receives up to 256 KiB in a turn, and one message more; then the others
//     get their turn. When all of them have received 8 MiB, or callbacks have taken 5 ms, the
//     loop looks for other events.
//   - An accepted connection has 2 s to introduce itself, and with TLS 5 s for its handshake before that, from when
//     that is computed; then those that wait count for Config.MaxEndpoints only. Without TLS, more than 64 that have not, more
//     than Config.MaxEndpoints, and those for which the process has no descriptor, are closed
//     and counted in Stats.AcceptShed.
//   - A connection takes one descriptor and, at each end, a segment of its own: 276 KiB
//     with the defaults.
//   - Memory that leaves less than 16 MiB of the host, or of a control group of the process, is not committed: a
//     connection for whose segment there is none is closed and counted in Stats.AcceptErrors.
//   - If there is not enough memory to commit a region, connections to its listen endpoint
//     are closed and counted in Stats.AcceptErrors, and 5 s later it is tried again. One that dials
//     is refused with netio.ErrNoMemory.
package shm
