// Package node puts a bus together: an event loop that runs, a transport
// backend on it, and a directory in a folder. It is what most programs start
// with; those with other needs put the same parts together themselves.
//
// It is the only package that names a backend.
package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"tagbus/bus"
	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/netio"
	"tagbus/netio/rdma"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

// ErrUnknownBackend is returned by Open for a Config.Backend that is neither
// "tcp" nor "rdma" nor "rdma:PROVIDER".
var ErrUnknownBackend = errors.New("node: unknown backend: want tcp, rdma or rdma:PROVIDER")

// Config says how a node works. Only Bus has no default.
type Config struct {
	// Bus is the folder through which publishers and subscribers find each
	// other. It is made if it does not exist, and may be on a network file
	// system; see package file for what to set there.
	Bus string

	// Backend is "tcp", "rdma" or "rdma:PROVIDER". Default "tcp". All that are
	// to talk to each other use the same.
	Backend string

	Loop      reactor.Config
	TCP       tcp.Config
	Directory file.Config
}

// Node is a running event loop with a transport and a directory. Publishers
// and subscribers of one node share its loop, on which their callbacks run one
// at a time.
//
// Threads: any.
type Node struct {
	loop   *reactor.EventLoop
	opener netio.Opener
	dir    *file.Directory
	done   chan error // the result of the loop's Run

	mu     sync.Mutex
	closed bool
	users  []closer // in the order of their opening
}

type closer interface{ Close() error }

// Open starts a node. Close it.
//
//   - Errors: ErrUnknownBackend; netio.ErrNotBuiltIn; those of the parts'
//     configurations; the system's, when the folder cannot be used.
func Open(cfg Config) (*Node, error) {
	loop, err := reactor.New(cfg.Loop)
	if err != nil {
		return nil, err
	}
	opener, err := cfg.opener(loop)
	if err != nil {
		return nil, errors.Join(err, loop.Close())
	}
	dir, err := file.Open(cfg.Bus, cfg.Directory)
	if err != nil {
		return nil, errors.Join(err, loop.Close())
	}
	n := &Node{loop: loop, opener: opener, dir: dir, done: make(chan error, 1)}
	go func() { n.done <- loop.Run(context.Background()) }()
	return n, nil
}

func (c Config) opener(loop *reactor.EventLoop) (netio.Opener, error) {
	name, provider, _ := strings.Cut(c.Backend, ":")
	switch {
	case name == "" || c.Backend == "tcp":
		return tcp.Opener(loop, c.TCP), nil
	case name == "rdma":
		return rdma.Opener(loop, rdma.Config{Provider: provider}), nil
	}
	return nil, fmt.Errorf("%w: got %q", ErrUnknownBackend, c.Backend)
}

// NewPublisher opens a publisher on the node; see bus.NewPublisher.
func (n *Node) NewPublisher(cfg bus.PublisherConfig) (*bus.Publisher, error) {
	return open(n, func() (*bus.Publisher, error) { return bus.NewPublisher(n.opener, n.dir, cfg) })
}

// NewSubscriber opens a subscriber on the node; see bus.NewSubscriber.
func (n *Node) NewSubscriber(cfg bus.SubscriberConfig) (*bus.Subscriber, error) {
	return open(n, func() (*bus.Subscriber, error) { return bus.NewSubscriber(n.opener, n.dir, cfg) })
}

// open opens a user of the node and remembers it for Close.
func open[T closer](n *Node, open func() (T, error)) (T, error) {
	var none T
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return none, bus.ErrClosed
	}
	user, err := open()
	if err != nil {
		return none, err
	}
	n.users = append(n.users, user)
	return user, nil
}

// Directory returns the node's directory.
func (n *Node) Directory() directory.Directory { return n.dir }

// Loop returns the node's loop, for timers and signals of the program's own.
func (n *Node) Loop() *reactor.EventLoop { return n.loop }

// Close closes the publishers and subscribers that are still open, the last
// opened first, then the directory and the loop. The second call does nothing.
//
//   - Threads: any but the loop's.
func (n *Node) Close() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil
	}
	n.closed = true
	var errs []error
	for i := len(n.users) - 1; i >= 0; i-- {
		errs = append(errs, n.users[i].Close())
	}
	errs = append(errs, n.dir.Close())
	n.loop.Stop()
	errs = append(errs, <-n.done, n.loop.Close())
	return errors.Join(errs...)
}
