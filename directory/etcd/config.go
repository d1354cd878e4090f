// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"tagbus/internal/plain"
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
	// another server if there are several. Default 3s; at least 10ms.
	RequestTimeout time.Duration

	// AnnounceTimeout is how long Announce waits for servers that are away before it goes
	// on in the background. Default 3s; at least 10ms.
	AnnounceTimeout time.Duration

	// Logger gets what is worth a line and no Problem. Default: slog.Default().
	Logger *slog.Logger
}

// withDefaults fills in the zero fields.
func (c Config) withDefaults() Config {
	def := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	def(&c.Expiry, 30*time.Second)
	def(&c.RequestTimeout, 3*time.Second)
	def(&c.AnnounceTimeout, 3*time.Second)
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
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
		}
	}
	check(len(c.Endpoints) >= 1 && len(c.Endpoints) <= maxEndpoints, "there are %d Endpoints, must be 1 to %d", len(c.Endpoints), maxEndpoints)
	for i, endpoint := range c.Endpoints {
		check(validEndpoint(endpoint), "Endpoints[%d] is %s, must be host:port or unix:///path", i, strconv.Quote(endpoint))
	}
	check(len(c.Prefix) >= 2 && len(c.Prefix) <= maxPrefix && strings.HasPrefix(c.Prefix, "/") && strings.HasSuffix(c.Prefix, "/") && plain.Text(c.Prefix) == c.Prefix,
		"Prefix is %s, must begin and end with a slash and be 2 to %d bytes of printable text", strconv.Quote(c.Prefix), maxPrefix)
	check((c.User == "") == (c.Password == ""), "User and Password must be given both or none")
	check(c.Expiry >= minExpiry && c.Expiry <= maxExpiry, "Expiry is %v, must be %v to %v", c.Expiry, minExpiry, maxExpiry)
	check(c.RequestTimeout >= minTimeout, "RequestTimeout is %v, must be at least %v", c.RequestTimeout, minTimeout)
	check(c.AnnounceTimeout >= minTimeout, "AnnounceTimeout is %v, must be at least %v", c.AnnounceTimeout, minTimeout)
	return errors.Join(errs...)
}

// validEndpoint reports whether s is host:port, or the path of a socket.
func validEndpoint(s string) bool {
	if path, ok := strings.CutPrefix(s, "unix://"); ok {
		return strings.HasPrefix(path, "/") && len(path) > 1
	}
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" || strings.ContainsAny(host, "/@?# ,") || plain.Text(host) != host {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// ttl returns the time to live of the lease, seconds.
func (c Config) ttl() int64 { return int64((c.Expiry + time.Second - 1) / time.Second) }
