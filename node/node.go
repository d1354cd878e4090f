// SPDX-License-Identifier: Apache-2.0

// Package node puts a bus together: an event loop that runs, a transport
// backend on it, and a directory. It is what most programs start
// with; those with other needs put the same parts together themselves.
//
// It is the only package that names a backend.
package node

import (
	"cmp"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"tagbus/access"
	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/bus/observer"
	"tagbus/netio"
	"tagbus/netio/rdma"
	"tagbus/netio/reactor"
	"tagbus/netio/shm"
	"tagbus/netio/tcp"
)

// ErrUnknownBackend is returned by Open for a Config.Backend in which something is neither
// "auto" nor "shm" nor "tcp" nor "tls" nor "rdma" nor "rdma:PROVIDER" nor "rdma:PROVIDER@DEVICE".
var ErrUnknownBackend = errors.New("node: unknown backend: want auto, or some of shm, tcp, tls, rdma, rdma:PROVIDER and rdma:PROVIDER@DEVICE with commas between them")

// ErrNoCredentials is returned by Open for the backend tls without certificates. What is
// missing follows in the text.
var ErrNoCredentials = errors.New("node: the backend tls needs certificates and the CA of the peers")

// ErrNotSecure is returned by Open for certificates, in Config.TLS, with a backend that
// would not use them: what is sent could be read on its way.
var ErrNotSecure = errors.New("node: certificates are set, but the backend does not use them")

// Config says how a node works. Only Bus has no default.
type Config struct {
	// Bus is the directory through which publishers and subscribers find each other: the
	// path of a folder, or a URL as directory.Open takes it. If a folder does not exist, the
	// first publisher or receiver makes it. It may be on a network file system; see package
	// file for what to set there in Folder. A program that imports
	// tagbus/directory/etcd knows "etcd://HOST,HOST/NAME", too.
	Bus string

	// Directory is used instead of one that Bus names, which may then be empty. The node
	// does not close it. Default: the one that Bus names.
	Directory directory.Directory

	// Backend is the transport: "shm" between processes of one host, "tcp", "tls", "rdma" or
	// "rdma:PROVIDER", and with "/rdm" behind the last without connections where the provider
	// has them, too. Several have commas between them, the best one first: "shm,rdma:verbs,tcp".
	// What listens does so by all of them, and what dials uses the best one that the peer
	// has and that works. Peers that know only one use the last. "tls" is "tcp" with TLS 1.3, and needs
	// TLS. With TLS, "shm" asks for certificates, too, and others stand in no list.
	//
	// "rdma:verbs@mlx5_0" uses one device, and several such, one behind the other, share out the
	// connections: a publisher listens by each of them, and each pair of programs prefers two devices at
	// random. When one fails the connections go to the others, and come back with the next try (adr/0044).
	//
	// Default "auto": "shm,tcp", with "rdma:verbs" between them where this program and this
	// host have it, or up to 8 of its devices, without what cannot be opened. With TLS it is "shm,tls", and with Access "shm,tcp".
	Backend string

	// Access decides for everything that is opened on the node which peers may do what, unless
	// its own configuration names another one. Its certificates are those of the backends tls and shm,
	// and sign the entries of the directory; entries of others count only if they are signed,
	// by a principal that may announce their tags (package bus/directory/signed).
	// The node does not close it. Default: every peer may do everything.
	Access *access.Access

	// TLS has the certificates of the backends tls and shm, which no other backend takes. Default:
	// those of Access. Over shm the ServerName of a client that names none is the name of a socket, which
	// stands in no certificate: then connections are by tls.
	TLS *tcp.TLS

	Loop reactor.Config

	// Loops is how many event loops, 1 to 64, send and receive. Default 1: that of
	// the callbacks does it all. Otherwise these are beside it, and share out the
	// connections: for publishers with many subscribers, or subscribers with many
	// publishers, that keep a processor busy with system calls, or with TLS. Not for shm,
	// which has one loop. They have the settings of Loop except its Init: its processors are
	// for all of them, and its OnPanic and OnStall may be called by several at once.
	Loops int

	// TCP tunes the backends tcp and tls, except its own TLS, which TLS replaces. Its default here differs in two values:
	// UserTimeout is off, because it would cut off a subscriber that lives and does
	// not read, for which the policy block waits. The heartbeats of the bus find
	// dead subscribers; set a UserTimeout if they are switched off. MaxEndpoints is 1,048,576, so that
	// the limits of publishers and receivers bind, as MaxSubscribers: beyond one of theirs a connection that does
	// nothing gives way, and beyond that of a backend each that comes.
	TCP tcp.Config

	// SHM tunes the backend shm, except its own TLS, which TLS replaces. Processes that are to share memory have the same Folder in it.
	SHM shm.Config

	// RDMA tunes the backend rdma. The provider of Backend, if it names one, goes
	// before its Provider.
	RDMA rdma.Config

	// Folder tunes the directory if Bus is the path of a folder.
	Folder file.Config

	// Expiry is how long an instance may give no sign of life to the directory before its
	// entry is gone. Default: that of the kind of directory, 5 s in a folder.
	Expiry time.Duration

	// Logger gets the warnings of the loops and transports whose configurations
	// name none. It is called on the loops, so it must not wait for a reader.
	// Default: slog.Default().
	Logger *slog.Logger
}

// withLogger gives Logger to the parts that have none.
func (c Config) withLogger() Config {
	c.Loop.Logger = cmp.Or(c.Loop.Logger, c.Logger)
	c.TCP.Logger = cmp.Or(c.TCP.Logger, c.Logger)
	c.RDMA.Logger = cmp.Or(c.RDMA.Logger, c.Logger)
	c.SHM.Logger = cmp.Or(c.SHM.Logger, c.Logger)
	return c
}

// Fabrics returns what this host and this program have for the backend rdma, and
// what is missing; its Text is for people. It sends nothing.
//
//   - Errors: libfabric's, with what was found otherwise.
//   - Threads: any. Blocks: for some 100 ms, when libfabric looks for devices.
func Fabrics() (rdma.Survey, error) { return rdma.Fabrics() }

// Node is a running event loop, or several, with a transport and a directory.
// Publishers, subscribers, senders and receivers of one node share the loop on which
// their callbacks run one at a time.
//
// Threads: any.
type Node struct {
	access *access.Access
	loops  []*reactor.EventLoop // that of the callbacks, and others
	opener netio.Opener
	dir    directory.Directory
	closes func() error // the directory, if it was opened here
	done   chan error   // the result of each loop's Run

	overRDMA bool
	turns    turns

	mu     sync.Mutex
	closed bool
	down   bool    // a loop has ended before that
	early  []error // of closing then; written before done
	users  users
	ended  chan struct{}
}

// Open starts a node. Close it.
//
//   - Errors: ErrUnknownBackend; ErrNoCredentials; ErrNotSecure; bus.ErrInvalidConfig for
//     Loops, and with the error of directory.Open for Bus and Expiry; those of the parts'
//     configurations; the
//     system's, when the folder cannot be used.
func Open(cfg Config) (*Node, error) {
	cfg = cfg.withLogger()
	cfg.TLS = cfg.credentials()
	n := &Node{access: cfg.Access, overRDMA: slices.ContainsFunc(cfg.names(), overRDMA), users: users{open: make(map[uint64]closer)}, ended: make(chan struct{})}
	err := n.makeLoops(cfg.Loop, cfg.Loops)
	if err == nil {
		n.opener, err = cfg.opener(n.loops[0], n.loops[1:])
	}
	if err == nil {
		n.dir, n.closes, err = cfg.directory()
	}
	if err != nil {
		return nil, errors.Join(err, n.closeLoops())
	}
	n.done = make(chan error, len(n.loops))
	for _, loop := range n.loops {
		go n.run(loop)
	}
	return n, nil
}

// NewPublisher opens a publisher on the node; see bus.NewPublisher.
//
// Errors: as there; netio.ErrNotBuiltIn; bus.ErrClosed.
func (n *Node) NewPublisher(cfg bus.PublisherConfig) (*bus.Publisher, error) {
	n.guard(&cfg.Access)
	return open(n, func(o netio.Opener) (*bus.Publisher, error) { return bus.NewPublisher(o, n.dir, cfg) })
}

// NewSubscriber opens a subscriber on the node; see bus.NewSubscriber.
//
// Errors: as there; netio.ErrNotBuiltIn; bus.ErrClosed.
func (n *Node) NewSubscriber(cfg bus.SubscriberConfig) (*bus.Subscriber, error) {
	n.guard(&cfg.Access)
	return open(n, func(o netio.Opener) (*bus.Subscriber, error) { return bus.NewSubscriber(o, n.dir, cfg) })
}

// NewSender opens a sender on the node; see bus.NewSender.
//
// Errors: as there; netio.ErrNotBuiltIn; bus.ErrClosed.
func (n *Node) NewSender(cfg bus.SenderConfig) (*bus.Sender, error) {
	n.guard(&cfg.Access)
	return open(n, func(o netio.Opener) (*bus.Sender, error) { return bus.NewSender(o, n.dir, cfg) })
}

// RDMAReceiverBytes is the default of bus.ReceiverConfig.MaxMessageBytes over RDMA: a
// sender's largest message by default, and a page, have room.
const RDMAReceiverBytes = 2 << 20

// NewReceiver opens a receiver on the node; see bus.NewReceiver. Over RDMA the
// default of MaxMessageBytes is RDMAReceiverBytes: each sender takes as many buffers of
// that size as rdma.Config.ReceiveBuffers says, and two more, all locked.
//
// Errors: as there; netio.ErrNotBuiltIn; bus.ErrClosed.
func (n *Node) NewReceiver(cfg bus.ReceiverConfig, h bus.Handler) (*bus.Receiver, error) {
	if n.overRDMA && cfg.MaxMessageBytes == 0 {
		cfg.MaxMessageBytes = RDMAReceiverBytes
	}
	n.guard(&cfg.Access)
	return open(n, func(o netio.Opener) (*bus.Receiver, error) { return bus.NewReceiver(o, n.dir, cfg, h) })
}

// NewObserver opens an observer on the node; see observer.New.
//
// Errors: as there; netio.ErrNotBuiltIn; bus.ErrClosed.
func (n *Node) NewObserver(cfg observer.Config) (*observer.Observer, error) {
	return open(n, func(o netio.Opener) (*observer.Observer, error) { return observer.New(o, cfg) })
}

// Directory returns the node's directory.
func (n *Node) Directory() directory.Directory { return n.dir }

// Loop returns the loop of the callbacks, for timers and signals of the program's own.
func (n *Node) Loop() *reactor.EventLoop { return n.loops[0] }

// Close closes what was opened on the node and is still open, the last opened
// first, then the directory and the loop. The second call waits for the
// first.
//
//   - Errors: those of what it closes; *reactor.GoexitError if a callback has ended the
//     goroutine of a loop.
//   - Threads: any but a loop's, for which it would wait: there it returns
//     bus.ErrOnLoop.
func (n *Node) Close() error {
	if n.Loop().OnAnyLoop() {
		return bus.ErrOnLoop
	}
	n.mu.Lock()
	first := !n.closed
	n.closed = true
	users := n.users.all()
	n.mu.Unlock() // callbacks that run meanwhile may call any method
	if !first {
		<-n.ended
		return nil
	}
	defer close(n.ended)
	errs := append(closeAll(users), n.closes())
	for _, loop := range n.loops {
		loop.Stop()
	}
	for range n.loops {
		errs = append(errs, <-n.done)
	}
	errs = append(errs, n.early...)
	return errors.Join(append(errs, n.closeLoops())...)
}
