// SPDX-License-Identifier: Apache-2.0

package rdma

import (
	"log/slog"
	"slices"
	"strings"

	"tagbus/internal/validate"
	"tagbus/netio"
)

// Providers of libfabric that this backend can use.
const (
	ProviderVerbs = "verbs" // RDMA devices: InfiniBand, RoCE, iWARP
	ProviderTCP   = "tcp"   // sockets, on any machine; to try things out
	ProviderNet   = "net"   // the next generation of tcp in libfabric 1.17
)

// providerSHM is memory that processes of a host share.
const providerSHM = "shm"

// providers are those that a Config may name: first those with connections.
var providers = []string{
	ProviderVerbs, ProviderTCP, ProviderNet,
	"efa", "cxi", "opx", providerSHM, "tcp;ofi_rxm", "verbs;ofi_rxm", "net;ofi_rxm",
}

// ConnectionlessSuffix stands behind the provider in the name of a backend with
// Config.Connectionless, as it cannot reach one without.
const ConnectionlessSuffix = "/rdm"

// Defaults of Config.
const (
	defaultReceiveBuffers = 16
	defaultMaxEndpoints   = 4096
)

// Limits of Config.
const (
	maxReceiveBuffers = 1 << 14
	maxCount          = 1 << 20
	maxDeviceBytes    = 64
)

// Config says which fabric to use and how. The zero value uses an RDMA device.
type Config struct {
	// Config is what all backends have in common. Its Mode chooses the provider
	// if Provider does not: ModeRDMA verbs, ModeTCP tcp, ModeDefault verbs.
	netio.Config

	// Provider is the libfabric provider: "verbs", "tcp", "net"; or one without
	// connections: "efa", "shm", "tcp;ofi_rxm". Both ends of a connection use the
	// same. Default: by Mode.
	Provider string

	// Device is the only device to use: its name as libfabric has it (a domain, "mlx5_0"), or
	// an IP address of it. It listens at an address of its own where the unspecified one is asked for,
	// and dials from there. At the other end it may be any. Default: the system chooses one by the address.
	Device string

	// Connectionless uses endpoints without connections (FI_EP_RDM) also where the
	// provider has the others (FI_EP_MSG). Both ends do the same. Default: only
	// where there are no others.
	Connectionless bool

	// ReceiveBuffers is how many receive buffers an endpoint gets whose Params
	// leave it to the backend (ReceiveParams.Buffers of 0), 1 to 16,384. Each
	// holds a message of ReceiveParams.MaxMessageBytes; two more are for flow
	// control. Default 16.
	ReceiveBuffers int

	// MaxEndpoints is the largest number of accepted connections. Further ones
	// are refused, counted in Stats.AcceptShed and logged. Each has its own buffers. Default 4,096.
	MaxEndpoints int

	// Logger gets warnings about what is counted but has no callback. Default:
	// slog.Default().
	Logger *slog.Logger
}

// provider returns the one to use.
func (c Config) provider() string {
	switch {
	case c.Provider != "":
		return c.Provider
	case c.Mode == netio.ModeTCP:
		return ProviderTCP
	default:
		return ProviderVerbs
	}
}

// name returns the backend's name, with its device if it has one.
func (c Config) name() string {
	name := "rdma:" + c.provider()
	if c.Connectionless {
		name += ConnectionlessSuffix
	}
	return netio.WithDevice(name, c.Device)
}

func (c Config) withDefaults() Config {
	c.Config = c.WithDefaults()
	c.Provider = c.provider()
	validate.Default(&c.ReceiveBuffers, defaultReceiveBuffers)
	validate.Default(&c.MaxEndpoints, defaultMaxEndpoints)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// notInDevice reports whether no device has a character in its name: it ends the name where backends are listed.
func notInDevice(r rune) bool { return r <= ' ' || r == ',' || r == '@' || r == '=' || r > '~' }

// Validate reports all violations of c, joined; each wraps netio.ErrInvalidConfig
// and names the field, its value and its limit. The opener calls it.
func (c Config) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: netio.ErrInvalidConfig}
	if !slices.Contains(providers, c.Provider) {
		v.Add("Provider is %q, want one of %s", c.Provider, strings.Join(providers, ", "))
	}
	if c.Mode == netio.ModeTCP && c.Provider == ProviderVerbs {
		v.Add("Provider is %v, want tcp or net, as Mode is TCP", c.Provider)
	}
	if len(c.Device) > maxDeviceBytes || strings.ContainsFunc(c.Device, notInDevice) {
		v.Add("Device is %q, want the name or the address of one: at most %d bytes, without blanks, commas, @ and =", c.Device, maxDeviceBytes)
	}
	validate.Within(&v, "ReceiveBuffers", c.ReceiveBuffers, 1, maxReceiveBuffers)
	validate.Within(&v, "MaxEndpoints", c.MaxEndpoints, 1, maxCount)
	v.Join(c.Config.Validate())
	return v.Err()
}
