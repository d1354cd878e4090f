// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"crypto/tls"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"tagbus/internal/sanitize"
	"tagbus/internal/validate"
)

// Limits of a Config.
const (
	minExpiry    = 2 * time.Second // a lease has whole seconds, and is renewed three times in its life
	maxExpiry    = 24 * time.Hour
	minTimeout   = 10 * time.Millisecond
	maxEndpoints = 64
	maxPrefix    = 512 // bytes
)

// Config says where the servers are, and how to talk to them. Endpoints and Prefix have no
// default.
type Config struct {
	// Endpoints are the servers, each as host:port or unix:///path; 1 to 64.
	Endpoints []string

	// Prefix stands in front of all keys. It begins and ends with a slash; at most 512
	// bytes of printable text.
	Prefix string

	// TLS is what the servers are talked to with; nil: without.
	TLS *tls.Config

	// User and Password are those of etcd's own authentication; both or none.
	User, Password string

	// Expiry is how long a process may give no sign of life before what it announced is
	// gone, in whole seconds, rounded up. Default 30s; 2s to 24h.
	Expiry time.Duration

	// RequestTimeout is how long one request may take before it is tried again, with
	// another server if there are several. Default 3s; 10ms to ten years.
	RequestTimeout time.Duration

	// AnnounceTimeout is how long Announce waits for servers that are away before it goes
	// on in the background. Default 3s; 10ms to ten years.
	AnnounceTimeout time.Duration

	// Logger gets what is worth a line and no Problem. Default: slog.Default().
	Logger *slog.Logger
}

// withDefaults fills in the zero fields.
func (c Config) withDefaults() Config {
	validate.Default(&c.Expiry, 30*time.Second)
	validate.Default(&c.RequestTimeout, 3*time.Second)
	validate.Default(&c.AnnounceTimeout, 3*time.Second)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// Validate returns nil if Open would accept c.
//
//   - Errors: one error that wraps ErrConfig for each violation, joined. None has the
//     password.
func (c Config) Validate() error {
	c = c.withDefaults()
	v := validate.Violations{Kind: ErrConfig}
	if n := len(c.Endpoints); n < 1 || n > maxEndpoints {
		v.Add("there are %d Endpoints, want 1 to %d", n, maxEndpoints)
	}
	for i, endpoint := range c.Endpoints {
		if !validEndpoint(endpoint) {
			v.Add("Endpoints[%d] is %q, want host:port or unix:///path", i, endpoint)
		}
	}
	if len(c.Prefix) < 2 || len(c.Prefix) > maxPrefix || !strings.HasPrefix(c.Prefix, "/") || !strings.HasSuffix(c.Prefix, "/") || sanitize.Text(c.Prefix) != c.Prefix {
		v.Add("Prefix is %q, want a slash at its beginning and its end, and 2 to %d bytes of printable text", c.Prefix, maxPrefix)
	}
	if (c.User == "") != (c.Password == "") {
		v.Add("User and Password must be given both or none")
	}
	validate.Within(&v, "Expiry", c.Expiry, minExpiry, maxExpiry)
	validate.Within(&v, "RequestTimeout", c.RequestTimeout, minTimeout, validate.MaxDuration)
	validate.Within(&v, "AnnounceTimeout", c.AnnounceTimeout, minTimeout, validate.MaxDuration)
	return v.Err()
}

// validEndpoint reports whether s is host:port, or the path of a socket.
func validEndpoint(s string) bool {
	if path, ok := strings.CutPrefix(s, "unix://"); ok {
		return strings.HasPrefix(path, "/") && len(path) > 1
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" || strings.ContainsAny(host, "/@?# ,") || sanitize.Text(host) != host {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// ttl returns the time to live of the lease, seconds.
func (c Config) ttl() int64 { return int64((c.Expiry + time.Second - 1) / time.Second) }
