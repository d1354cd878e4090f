// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"crypto/tls"
	"time"

	"tagbus/internal/validate"
	"tagbus/netio"
	"tagbus/netio/internal/mutual"
)

// TLSProtocol is the application protocol (ALPN) of the handshake of every connection with TLS. It
// is not that of the backend tls: what is said here cannot be passed on to a port there.
const TLSProtocol = "tagbus/1-shm"

// Defaults of TLS.
const (
	defaultHandshakeTimeout = 5 * time.Second
	defaultMaxHandshakes    = 64
)

// TLS makes the sides of each connection prove by certificates who they are, before any memory is
// shared: with a handshake of TLS 1.3 on the socket. It encrypts nothing: what is sent goes
// through memory that no one but the two processes has. See secure.go.
type TLS struct {
	// Server and Client return the configuration of the side that accepts and of the
	// side that dials, as those of tcp.TLS do and with the same rules. An empty ServerName is the
	// name that is dialled, which stands in no certificate: verify names of peers in VerifyConnection.
	Server func() (*tls.Config, error)
	Client func() (*tls.Config, error)

	// HandshakeTimeout is how long an accepted connection may be silent at first, and
	// how long a handshake may take. Default 5 s; at least 1 ms.
	HandshakeTimeout time.Duration

	// MaxHandshakes is how many handshakes of accepted connections are under way at
	// once, and how many of dialled ones, as in tcp.TLS. Default 64.
	MaxHandshakes int
}

func (t TLS) withDefaults() *TLS {
	validate.Default(&t.HandshakeTimeout, defaultHandshakeTimeout)
	validate.Default(&t.MaxHandshakes, defaultMaxHandshakes)
	return &t
}

// validate adds the violations of t; a nil one has none.
func (t *TLS) validate(v *validate.Violations) {
	if t == nil {
		return
	}
	d := t.withDefaults()
	own := validate.Violations{Kind: netio.ErrInvalidConfig}
	d.mutual().Validate(&own)
	validate.Within(&own, "TLS.HandshakeTimeout", d.HandshakeTimeout, time.Millisecond, time.Hour)
	validate.Within(&own, "TLS.MaxHandshakes", d.MaxHandshakes, 1, maxAccepted)
	v.Join(own.Err())
}

// mutual returns what the configurations come from.
func (t *TLS) mutual() *mutual.Config {
	return &mutual.Config{Server: t.Server, Client: t.Client, Protocol: TLSProtocol}
}
