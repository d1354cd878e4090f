// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"log/slog"
	"time"

	"tagbus/internal/validate"
	"tagbus/netio"
)

// DefaultMaxEndpoints is Config.MaxEndpoints unless set.
const DefaultMaxEndpoints = 4096

// Further defaults of Config.
const (
	defaultKeepaliveIdle     = 5 * time.Second
	defaultKeepaliveInterval = 2 * time.Second
	defaultUserTimeout       = 10 * time.Second
)

const (
	// keepaliveProbes is how often the system asks a silent peer for a sign of life.
	keepaliveProbes = 3

	// backlog is the number of connections that wait to be accepted; the system caps it
	// at net.core.somaxconn.
	backlog = 4096

	// acceptBudget is the number of connections accepted in one turn of the loop.
	acceptBudget = 64

	// acceptPause is how long a listen endpoint rests when the process has no free
	// descriptor, or the system no memory.
	acceptPause = 100 * time.Millisecond

	// maxStrangers is how many accepted connections may not have shown a certificate yet, whatever MaxEndpoints is. One
	// more displaces the oldest.
	maxStrangers = 16_384

	// partialTimeout is how long a peer may stop in the middle of a message while its
	// part lies in a shared receive buffer that others wait for. Then the connection
	// ends with netio.ErrTimeout and counts as truncated. The time begins again with each
	// byte, and is not measured while no endpoint waits; an endpoint that its own user has
	// paused has no limit. As many strangers as there are buffers keep the others waiting
	// for so long, again and again: share receive buffers among peers that are trusted.
	partialTimeout = 2 * time.Second
)

// SystemCongestionControl as Config.CongestionControl is the system's algorithm
// for all connections, net.ipv4.tcp_congestion_control.
const SystemCongestionControl = "system"

// sameHostCongestionControl does not pace, and every kernel has it.
const sameHostCongestionControl = "reno"

// Limits of Config.
const (
	maxSocketBufferBytes = 1 << 30
	maxKeepalive         = 32767 * time.Second // of the system
	maxCount             = 1 << 20
	maxCongestionName    = 15 // of the system
)

// Config tunes a backend. The zero value is good for detector readout in a
// local network.
type Config struct {
	// Config is what all backends have in common. Its Mode changes nothing:
	// this backend uses TCP.
	netio.Config

	// SendBufferBytes and ReceiveBufferBytes fix the socket buffers, up to
	// 1 GiB; the system doubles them for its own needs and caps them at
	// net.core.wmem_max and rmem_max. Default 0: the system adapts them to the
	// connection, which is better than any fixed value unless memory is short.
	SendBufferBytes, ReceiveBufferBytes int

	// CongestionControl names the algorithm for what this side sends, one of
	// net.ipv4.tcp_allowed_congestion_control, or is SystemCongestionControl:
	// the system's for all. Default "": the system's, but "reno" for a peer on
	// the same host, which has a loopback address or the connection's own. An
	// algorithm that paces, as "bbr" does, only waits there: with "reno" the bus
	// is 1.2 times as fast, and C with large blocks 2.4 times (docs/benchmarks.md).
	// Where the system refuses "reno" its own stays.
	CongestionControl string

	// KeepaliveIdle is the silence after which the system asks the peer for a
	// sign of life; it asks three times, every KeepaliveInterval.
	// Defaults 5 s and 2 s. Whole seconds. Negative KeepaliveIdle: never ask.
	// With a UserTimeout it is that time, and not the number of probes, after
	// which a silent peer is given up.
	KeepaliveIdle, KeepaliveInterval time.Duration

	// UserTimeout is how long sent bytes may stay unacknowledged, or the peer
	// may have no room for more, before the connection ends with ETIMEDOUT. A
	// peer that has paused receiving for so long counts as gone, because the
	// system makes no difference (TCP_USER_TIMEOUT in tcp(7)). Default 10 s;
	// negative: as long as the system sees fit, which is some 15 minutes for a
	// peer that is silent, and no limit for one that only has no room. At
	// least 1 ms.
	UserTimeout time.Duration

	// MaxEndpoints is the largest number of accepted connections, up to 1,048,576. Further ones
	// are closed at once, counted in Stats.AcceptShed and logged. Memory is taken as they come. Default 4,096.
	MaxEndpoints int

	// TLS makes the backend that named "tls": all connections use TLS 1.3 with
	// certificates on both sides. Default nil: none do.
	TLS *TLS

	// Logger gets warnings about what is counted but has no callback. Default:
	// slog.Default().
	Logger *slog.Logger

	// Tests set these.
	readBudget     int           // 0: it follows the load
	acceptBudget   int           // default acceptBudget
	acceptPause    time.Duration // default acceptPause
	maxStrangers   int           // default maxStrangers
	partialTimeout time.Duration // default partialTimeout; negative: never
}

func (c Config) withDefaults() Config {
	c.Config = c.WithDefaults()
	validate.Default(&c.KeepaliveIdle, defaultKeepaliveIdle)
	validate.Default(&c.KeepaliveInterval, defaultKeepaliveInterval)
	validate.Default(&c.UserTimeout, defaultUserTimeout)
	validate.Default(&c.MaxEndpoints, DefaultMaxEndpoints)
	validate.Default(&c.acceptBudget, acceptBudget)
	validate.Default(&c.acceptPause, acceptPause)
	validate.Default(&c.maxStrangers, maxStrangers)
	validate.Default(&c.partialTimeout, partialTimeout)
	if c.TLS != nil {
		c.TLS = c.TLS.withDefaults()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// Validate reports all violations of c, joined; each wraps netio.ErrInvalidConfig
// and names the field, its value and its limit. The opener calls it.
func (c Config) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: netio.ErrInvalidConfig}
	validate.Within(&v, "SendBufferBytes", c.SendBufferBytes, 0, maxSocketBufferBytes)
	validate.Within(&v, "ReceiveBufferBytes", c.ReceiveBufferBytes, 0, maxSocketBufferBytes)
	if len(c.CongestionControl) > maxCongestionName {
		v.Add("CongestionControl is %q, want a name of net.ipv4.tcp_allowed_congestion_control", c.CongestionControl)
	}
	if c.KeepaliveIdle > 0 {
		validate.Within(&v, "KeepaliveIdle", c.KeepaliveIdle, time.Second, maxKeepalive)
		validate.Within(&v, "KeepaliveInterval", c.KeepaliveInterval, time.Second, maxKeepalive)
	}
	if c.UserTimeout > 0 {
		validate.Within(&v, "UserTimeout", c.UserTimeout, time.Millisecond, maxKeepalive)
	}
	validate.Within(&v, "MaxEndpoints", c.MaxEndpoints, 1, maxCount)
	v.Join(c.TLS.Validate())
	v.Join(c.Config.Validate())
	return v.Err()
}

// warn logs settings that have no effect here.
func (c *Config) warn() {
	if c.Mode == netio.ModeRDMA {
		c.Logger.Warn("tcp: the mode RDMA was asked for; this backend uses TCP")
	}
}
