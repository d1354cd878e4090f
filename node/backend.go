// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"tagbus/bus"
	"tagbus/netio"
	"tagbus/netio/multi"
	"tagbus/netio/rdma"
	"tagbus/netio/reactor"
	"tagbus/netio/shm"
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

// Auto is the Config.Backend that chooses by itself.
const Auto = "auto"

// opener returns the opener of the backends.
func (c Config) opener(loop *reactor.EventLoop, workers []*reactor.EventLoop) (netio.Opener, error) {
	if err := c.suitsTLS(); err != nil {
		return nil, err
	}
	names := c.names()
	if err := suitEachOther(names); err != nil {
		return nil, err
	}
	if c.Loops > 1 && len(names) == 1 && names[0] == "shm" {
		return nil, fmt.Errorf("%w: Loops is %d, want 1 with the backend %q alone, which has one loop", bus.ErrInvalidConfig, c.Loops, names[0])
	}
	parts := make([]multi.Part, len(names))
	for i, name := range names {
		var err error
		if parts[i].Open, err = c.part(name, loop, workers); err != nil {
			return nil, err
		}
		if c.automatic() && i < len(names)-1 {
			parts[i].Missing = func(err error) {
				c.logger().Warn("a transport is not available: connections use others", "transport", name, "err", err)
			}
		}
	}
	if len(parts) == 1 {
		return parts[0].Open, nil
	}
	return multi.Opener(parts...), nil
}

// overRDMA reports whether a backend is of RDMA.
func overRDMA(name string) bool { return strings.HasPrefix(name, "rdma") }

// automatic reports whether the backends are chosen here.
func (c Config) automatic() bool { return c.Backend == "" || c.Backend == Auto }

// names returns the backends, the best first.
func (c Config) names() []string {
	switch {
	case !c.automatic():
		return strings.Split(c.Backend, ",")
	case c.TLS != nil:
		return []string{"shm", "tls"}
	case c.Access != nil: // without the fabrics, which prove no identity
		return []string{"shm", "tcp"}
	}
	return slices.Concat([]string{"shm"}, overVerbs(rdma.Likely()), []string{"tcp"})
}

// maxAutoDevices is how many devices are used where none is named: a host may have hundreds of virtual ones.
const maxAutoDevices = 8

// overVerbs returns the backends of the RDMA devices of this host.
func overVerbs(devices []string) (names []string) {
	const verbs = "rdma:" + rdma.ProviderVerbs
	if len(devices) == 1 {
		return []string{verbs} // listens at addresses of the device that it gets later, too
	}
	for _, device := range devices[:min(len(devices), maxAutoDevices)] {
		names = append(names, netio.WithDevice(verbs, device))
	}
	return names
}

// suitEachOther reports whether backends can be used together.
//
// Errors: bus.ErrInvalidConfig, wrapped, with the names.
func suitEachOther(names []string) error {
	for i, name := range names {
		kind := netio.Kind(name)
		for k, other := range names[:i] {
			switch {
			case other == name:
				return fmt.Errorf("%w: Backend names %q twice: want each once", bus.ErrInvalidConfig, name)
			case netio.Kind(other) != kind:
			case other == kind || name == kind:
				return fmt.Errorf("%w: Backend names %q and %q, of which one is any device: want a device behind each @, or %q alone", bus.ErrInvalidConfig, other, name, kind)
			case k < i-1 && netio.Kind(names[i-1]) != kind:
				return fmt.Errorf("%w: Backend names %q and %q with %q between them: want the devices of %q together, as they are as good as each other", bus.ErrInvalidConfig, other, name, names[i-1], kind)
			}
		}
	}
	return nil
}

// tcp returns the configuration of the backends tcp and tls.
func (c Config) tcp() tcp.Config {
	c.TCP.UserTimeout = cmp.Or(c.TCP.UserTimeout, -1)
	c.TCP.MaxEndpoints = cmp.Or(c.TCP.MaxEndpoints, maxConnections)
	c.TCP.TLS = c.TLS
	return c.TCP
}

// maxConnections is the default of TCP.MaxEndpoints, the most that it may be: how many there are is for the limits of
// publishers and receivers, which know connections that do nothing from those that do, and end the former.
const maxConnections = 1 << 20

// part returns the opener of one backend.
//
// Errors: ErrUnknownBackend, bus.ErrInvalidConfig, netio.ErrInvalidConfig, wrapped.
func (c Config) part(name string, loop *reactor.EventLoop, workers []*reactor.EventLoop) (netio.Opener, error) {
	all, device, one := strings.Cut(name, "@")
	kind, provider, _ := strings.Cut(all, ":")
	switch {
	case name == "shm":
		if c.SHM.TLS = nil; c.TLS != nil {
			c.SHM.TLS = &shm.TLS{Server: c.TLS.Server, Client: c.TLS.Client, HandshakeTimeout: c.TLS.HandshakeTimeout, MaxHandshakes: c.TLS.MaxHandshakes}
		}
		return shm.Opener(loop, c.SHM), errors.Join(c.SHM.Validate(), suits(c.SHM.Config))
	case name == "tcp" || name == "tls":
		return tcp.OpenerOn(loop, workers, c.tcp()), suits(c.TCP.Config)
	case kind == "rdma":
		if one && device == "" {
			return nil, fmt.Errorf("%w: got %q, want a device behind the @, as publisher --fabrics shows them", ErrUnknownBackend, name)
		}
		if one {
			c.RDMA.Device = device
		}
		if provider != "" {
			provider, c.RDMA.Connectionless = cutConnectionless(provider, c.RDMA.Connectionless)
			if err := (rdma.Config{Provider: provider, Device: c.RDMA.Device}).Validate(); err != nil {
				return nil, fmt.Errorf("%w: got %q: %w", ErrUnknownBackend, name, err)
			}
			c.RDMA.Provider = provider
		}
		return rdma.OpenerOn(loop, workers, c.RDMA), errors.Join(c.RDMA.Validate(), suits(c.RDMA.Config))
	}
	return nil, fmt.Errorf("%w: got %q", ErrUnknownBackend, name)
}

// logger returns the logger of what concerns the node itself.
func (c Config) logger() *slog.Logger { return cmp.Or(c.Logger, slog.Default()) }

// credentials returns the certificates of the backends tls and shm: those of Access by default, unless
// a backend is named that would not use them.
func (c Config) credentials() *tcp.TLS {
	if c.TLS != nil || c.Access == nil || c.Access.Identity() == nil || !c.takesCertificates() {
		return c.TLS
	}
	store := c.Access.Identity()
	return &tcp.TLS{Server: store.Server, Client: store.Client}
}

// takesCertificates reports whether all backends ask peers for certificates.
func (c Config) takesCertificates() bool {
	if c.automatic() {
		return true
	}
	for _, name := range strings.Split(c.Backend, ",") {
		if name != "tls" && name != "shm" {
			return false
		}
	}
	return true
}

// guard gives the Access of the node to what names none.
func (n *Node) guard(a *bus.Access) {
	if *a == nil && n.access != nil {
		*a = n.access
	}
}

// suitsTLS reports whether the backends and the certificates go together.
//
// Errors: ErrNoCredentials, ErrNotSecure, netio.ErrInvalidConfig, wrapped.
func (c Config) suitsTLS() error {
	list := "," + c.Backend + ","
	needs := strings.Contains(list, ",tls,")
	switch set := c.TLS != nil || c.TCP.TLS != nil || c.SHM.TLS != nil; {
	case set && strings.Contains(list, ",rdma"):
		return fmt.Errorf("%w: Backend is %q, and RDMA moves the data past any encryption: use the backend tls, or leave TLS nil and see to the fabric", ErrNotSecure, c.Backend)
	case needs && !c.takesCertificates():
		return fmt.Errorf("%w by all: Backend is %q, and only tls and shm ask for certificates: want tls alone, or shm,tls", ErrNotSecure, c.Backend)
	case set && !c.takesCertificates():
		return fmt.Errorf("%w: Backend is %q, want tls, or shm,tls", ErrNotSecure, c.Backend)
	case set && c.TLS == nil:
		return fmt.Errorf("%w: they are set in TCP.TLS or SHM.TLS, want them in Config.TLS", ErrNotSecure)
	case c.TLS == nil && needs:
		return fmt.Errorf("%w: Config.TLS is nil, and Config.Access has no certificates: want one of them", ErrNoCredentials)
	case c.TLS == nil:
		return nil
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
