// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"strings"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/netio/rdma"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"
)

// Errors of the backend tls, for programs that say what to do about them.
var (
	// ErrHandshake is that of a connection whose two ends do not let each other in.
	ErrHandshake = tcp.ErrHandshake

	// ErrCertificateRefused is wrapped in addition if the peer does not take the certificate
	// of this side.
	ErrCertificateRefused = tcp.ErrCertificateRefused
)

// opener returns the opener of the backend.
func (c Config) opener(loop *reactor.EventLoop, workers []*reactor.EventLoop) (netio.Opener, error) {
	name, provider, _ := strings.Cut(c.Backend, ":")
	if err := c.suitsTLS(); err != nil {
		return nil, err
	}
	switch {
	case c.Backend == "" || c.Backend == "tcp" || c.Backend == "tls":
		if c.TCP.UserTimeout == 0 {
			c.TCP.UserTimeout = -1
		}
		c.TCP.TLS = c.TLS
		return tcp.OpenerOn(loop, workers, c.TCP), suits(c.TCP.Config)
	case name == "rdma":
		if len(workers) > 0 {
			return nil, fmt.Errorf("%w: Loops is %d, want 1 with the backend %q: a device moves the data", bus.ErrInvalidConfig, len(workers), c.Backend)
		}
		if provider != "" {
			provider, c.RDMA.Connectionless = cutConnectionless(provider, c.RDMA.Connectionless)
			if err := (rdma.Config{Provider: provider}).Validate(); err != nil {
				return nil, fmt.Errorf("%w: got %q: %w", ErrUnknownBackend, c.Backend, err)
			}
			c.RDMA.Provider = provider
		}
		return rdma.Opener(loop, c.RDMA), errors.Join(c.RDMA.Validate(), suits(c.RDMA.Config))
	}
	return nil, fmt.Errorf("%w: got %q", ErrUnknownBackend, c.Backend)
}

// credentials returns the certificates of the backend tls: those of Access by default.
func (c Config) credentials() *tcp.TLS {
	if c.TLS != nil || c.Backend != "tls" || c.Access == nil || c.Access.Identity() == nil {
		return c.TLS
	}
	store := c.Access.Identity()
	return &tcp.TLS{Server: store.Server, Client: store.Client}
}

// guard gives the Access of the node to what names none.
func (n *Node) guard(a *bus.Access) {
	if *a == nil && n.access != nil {
		*a = n.access
	}
}

// suitsTLS reports whether the backend and the certificates go together.
//
// Errors: ErrNoCredentials, ErrNotSecure, netio.ErrInvalidConfig, wrapped.
func (c Config) suitsTLS() error {
	switch set := c.TLS != nil || c.TCP.TLS != nil; {
	case c.Backend != "tls" && set && strings.HasPrefix(c.Backend, "rdma"):
		return fmt.Errorf("%w: Backend is %q, and RDMA moves the data past any encryption: use the backend tls, or leave TLS nil and see to the fabric", ErrNotSecure, c.Backend)
	case c.Backend != "tls" && set:
		return fmt.Errorf("%w: Backend is %q, want tls", ErrNotSecure, c.Backend)
	case c.Backend != "tls":
		return nil
	case c.TLS == nil:
		return fmt.Errorf("%w: Config.TLS is nil, and Config.Access has no certificates: want one of them", ErrNoCredentials)
	}
	if err := c.TLS.Validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrNoCredentials, err)
	}
	return nil
}

// cutConnectionless cuts the suffix for Connectionless off a provider, as in "net/rdm".
func cutConnectionless(text string, connectionless bool) (string, bool) {
	provider, found := strings.CutSuffix(text, rdma.ConnectionlessSuffix)
	return provider, connectionless || found
}

// suits reports whether publishers and subscribers can use a backend: they are
// called by any goroutine, and have send buffers of their own.
//
// Errors: netio.ErrInvalidConfig, wrapped.
func suits(c netio.Config) error {
	var errs []error
	if c.ThreadSafety != netio.Safe {
		errs = append(errs, fmt.Errorf("%w: ThreadSafety is %v, want safe: the bus is for many goroutines", netio.ErrInvalidConfig, c.ThreadSafety))
	}
	if c.SharedSend.Enabled() {
		errs = append(errs, fmt.Errorf("%w: SharedSend.Buffers is %d, want 0: the bus has send buffers for each connection", netio.ErrInvalidConfig, c.SharedSend.Buffers))
	}
	return errors.Join(errs...)
}
