// SPDX-License-Identifier: Apache-2.0

package netio

import (
	"crypto/x509"
	"net/netip"
	"time"
)

// MaxHeaderBytes is the most that Endpoint.Send, SendCopy and SendDirect put in
// front of the data of one message.
const MaxHeaderBytes = 16

// Key identifies one send of one endpoint. It is chosen by the caller, not
// transmitted, and need not be unique. For SendBuffer it is Buffer.Key.
type Key uint64

// Completion reports the end of one accepted send.
type Completion struct {
	Endpoint Endpoint
	Key      Key
}

// Capabilities is what an endpoint can do, from its Params and its backend.
type Capabilities struct {
	Receive   bool // OnData is called
	Buffered  bool // Buffer and SendBuffer work
	ZeroCopy  bool // Send works
	Immediate bool // SendCopy works
	Direct    bool // SendDirect works
	Retain    bool // Retain works
	AnyMemory bool // Send sends from any memory, not only from ZeroCopyParams.Region
	CopyOther bool // Send copies what is not in ZeroCopyParams.Region
	InPlace   bool // the peer reads what is sent from ZeroCopyParams.Region there, before it is completed
}

// Room is how much more an endpoint can take, for metrics: a minimum of 0 means that
// a call was refused, or nearly was.
//
// Source: netio3 ConnectionManager::get_num_available_buffers.
type Room struct {
	Buffers    int // free send buffers; of shared ones, all that are free
	MinBuffers int // the fewest since the last Room; of shared ones, since that of any endpoint
	Sends      int // what Send and SendCopy would accept now
	MinSends   int // the fewest since the last Room
}

// Retained is memory of one or more messages that were received and are kept.
//
// Threads: any, also of an Unsafe backend.
type Retained interface {
	// Bytes returns how much memory is kept from receiving other messages: at
	// least those of the message, and all memory around it that goes with it.
	Bytes() int

	// Release undoes one Retain. After the last one the data is no longer valid,
	// except inside the OnData that delivers it. One call too many frees memory
	// that is in use, and panics where this is noticed.
	Release()
}

// Endpoint is one established, bidirectional connection.
//
// Threads: any goroutine if the backend is Safe, the loop if it is Unsafe, and
// for some methods the loop always. No method blocks.
type Endpoint interface {
	// Local returns this side's address.
	Local() netip.AddrPort

	// Remote returns the other side's address; on the side that opened the
	// endpoint it is the address given to OpenEndpoint.
	Remote() netip.AddrPort

	// Backend returns the name of its backend.
	Backend() string

	// Capabilities returns which of the methods below work.
	Capabilities() Capabilities

	// Context returns the value of SetContext, or the Params.Context with
	// which the endpoint was opened or accepted. Threads: the loop only.
	Context() any

	// SetContext attaches a value of the user to the endpoint. Threads: the
	// loop only.
	SetContext(v any)

	// Buffer takes a free send buffer. It comes back to the endpoint through
	// SendBuffer and its completion, or through Buffer.Release.
	//
	//   - Errors: ErrNoResources (none free, or it is the turn of another
	//     endpoint to take a shared one; OnSendReady follows),
	//     ErrNotSupported (no buffers were asked for in Params), ErrClosed.
	Buffer() (*Buffer, error)

	// SendBuffer sends the bytes of b and takes ownership of it, unless it
	// returns an error. The completion carries b.Key. For the endpoint's own
	// buffers there is always room: their number is the limit. A buffer that
	// the backend's endpoints share may be taken from one and sent by another,
	// and then Params.ZeroCopy.Outstanding is a limit as for Send.
	//
	//   - Errors: ErrNoResources (only for a shared buffer: too many sends
	//     outstanding; OnSendReady follows), ErrEmptyMessage, ErrForeignBuffer
	//     (b is not from Buffer, or was sent or released already), ErrTooLarge,
	//     ErrClosed.
	SendBuffer(b *Buffer) error

	// Send sends header and data as one message without copying data. A backend
	// may copy a message that is so small that this costs less, or that lies in
	// more pieces than its device takes.
	//
	//   - header: 0 to MaxHeaderBytes bytes; may be reused on return.
	//   - data: the pieces of the message, in order. Their bytes must not
	//     change until the key is reported; the slice of pieces itself may be
	//     reused on return.
	//   - Errors: ErrNoResources (too many sends outstanding; OnSendReady
	//     follows), ErrEmptyMessage, ErrTooLarge, ErrHeaderTooLarge,
	//     ErrNotSupported, ErrClosed.
	Send(key Key, header []byte, data ...[]byte) error

	// SendCopy is Send with data copied before it returns: all memory may be
	// reused at once. Errors: as Send; a backend without this mode returns
	// ErrNotSupported.
	SendCopy(key Key, header []byte, data ...[]byte) error

	// SendDirect is Send that may hand the message to the system by itself, on the
	// goroutine of its caller, and then spares the loop that way and the completion.
	// It is for small messages to a connection that is idle: for the time of one call
	// of the system, which does not wait, the loop and others that send to this
	// endpoint may have to wait. Messages arrive in the order of the calls, however
	// they were sent. No callback comes from inside it.
	//
	//   - done: the system has taken the whole message. All memory is the caller's
	//     again, the key is not reported, and the send is not outstanding. Like a
	//     completion it does not say that the peer has read the message.
	//   - Otherwise, without an error, the message is accepted as by Send: its data
	//     must not change until the key is reported. So it is if other sends are
	//     outstanding, the system has taken only a part or has no room, the connection
	//     has failed (OnConnectionClosed then says why), or a backend sees fit.
	//   - Errors: as Send. ErrNotSupported without Capabilities.Direct.
	SendDirect(key Key, header []byte, data ...[]byte) (done bool, err error)

	// Retain keeps the memory of the message that OnData is being called with:
	// its data stays valid and unchanged until Retained.Release, also beyond the
	// end of the endpoint and of the backend. Nothing is copied; the endpoint goes
	// on in other memory.
	//
	//   - Result: equal for messages that lie in the same memory. Each Retain has
	//     its Release.
	//   - Errors: ErrNotSupported (also where the receive buffers are of a fixed
	//     number and the backend cannot do without one), ErrNoResources (no other
	//     memory to receive into; no OnSendReady follows), ErrNoMessage. The
	//     message is as valid as before.
	//   - Threads: the loop only, inside OnData of this endpoint.
	Retain() (Retained, error)

	// Room returns how many buffers and sends are free, and how few were since
	// the last call. What it says of a closed endpoint means nothing.
	Room() Room

	// PauseReceive stops OnData until ResumeReceive: unread bytes stay in the
	// transport, whose flow control reaches the sender. Called on the loop it
	// takes effect at once: not one more OnData. Called elsewhere it may be
	// overtaken by one turn of the loop. Both are idempotent. That the peer has
	// closed in order shows only after ResumeReceive, behind its last message;
	// that the connection has broken may show at once. An endpoint that was
	// paused between two messages of the same read may hold a shared receive
	// buffer until it goes on.
	PauseReceive()

	// ResumeReceive undoes PauseReceive.
	ResumeReceive()

	// Close ends the connection and cancels outstanding sends, whose keys
	// OnConnectionClosed reports. Asynchronous: OnConnectionClosed follows on
	// the loop; called on the loop, no other callback of this endpoint comes
	// before it. The second call returns ErrClosed.
	Close() error
}

// Prober is an Endpoint whose system asks a peer that is silent for a sign of life.
type Prober interface {
	// ProbeAfter sets how long the peer may be silent before it is asked: for a
	// connection whose user sends signs of life by itself, more often than that. It
	// does nothing if that is earlier than what the backend is configured for, if the
	// backend is configured to ask for none, or at a closed endpoint.
	//
	//   - Threads: any. Blocks: never.
	ProbeAfter(silence time.Duration)
}

// Path is what the system has measured of the way to a peer.
type Path struct {
	// RoundTrip is how long data and the peer's answer to it take, smoothed over what was
	// sent lately; 0 if nothing was measured. The programs of both sides have no part in it.
	RoundTrip time.Duration

	// Segments counts what this side has sent with data in it on this connection, and
	// Retransmitted the segments among all that it has sent again, because the network lost
	// them, or their acknowledgement came too late. Systems count to 2^32, and begin again.
	Segments, Retransmitted uint64
}

// PathMeasurer is an Endpoint whose system measures the way to the peer.
type PathMeasurer interface {
	// Path returns what was measured of this connection; ok is false if nothing is, and at a
	// closed endpoint.
	//
	//   - Threads: any. Blocks: never. It may cost a system call.
	Path() (p Path, ok bool)
}

// Authenticated is an Endpoint whose backend knows who the peer is.
type Authenticated interface {
	// PeerCertificates returns the certificates by which the peer was let in, from
	// OnConnectionEstablished on, that of the peer first: those of the verified chain, or
	// where a user's function has verified them instead, those that the peer has shown. It
	// is nil if the connection is not authenticated, as with plain TCP. It is not to be
	// changed.
	//
	//   - Threads: any. Blocks: never.
	PeerCertificates() []*x509.Certificate
}

// Credentials are what the system says of a process of this host.
type Credentials struct {
	PID, UID, GID int // as this process's namespaces number them; PID 0: it is in none of them
}

// LocalPeer is an Endpoint whose peer is a process of this host, which the system knows.
type LocalPeer interface {
	// PeerCredentials returns who the peer was when it connected, or began to listen.
	//
	//   - Threads: any. Blocks: never.
	PeerCredentials() Credentials
}
