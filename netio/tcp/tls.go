// SPDX-License-Identifier: Apache-2.0

package tcp

import (
	"crypto/tls"
	"time"

	"tagbus/internal/validate"
	"tagbus/netio"
	"tagbus/netio/internal/mutual"
)

// TLSProtocol is the application protocol (ALPN) of every connection with TLS. Both
// sides must name it.
const TLSProtocol = "tagbus/1"

// Defaults and limits of TLS.
const (
	defaultHandshakeTimeout = 5 * time.Second
	defaultMaxHandshakes    = 64

	// defaultMaxRecords is 281 TB in full records; see docs/adr/0025.
	defaultMaxRecords = 1 << 34
)

// TLS makes all connections of a backend use TLS 1.3, with certificates on both
// sides. There is no way back to plain bytes on such a connection, and none from them.
type TLS struct {
	// Server and Client return the configuration of the side that accepts and of the
	// side that dials. They are called at the beginning of each handshake, on any
	// goroutine, several at once, and must not block: so certificates are exchanged
	// while the program runs. Connections that stand keep theirs. Both are needed.
	//
	// What they return is copied, and not changed. The version, the protocol and the
	// tickets in it do not matter: a connection has TLS 1.3, TLSProtocol, and is never
	// resumed, because that would skip the verification. Refused are, with
	// netio.ErrInvalidConfig in the error of the connection:
	//
	//   - for a server: ClientAuth other than tls.RequireAndVerifyClientCert, which is
	//     the default here, or tls.RequireAnyClientCert with VerifyConnection; the
	//     former without ClientCAs; GetConfigForClient.
	//   - for a client: no RootCAs, or InsecureSkipVerify, without VerifyConnection. An
	//     empty ServerName is the address that is dialled.
	Server func() (*tls.Config, error)
	Client func() (*tls.Config, error)

	// HandshakeTimeout is how long an accepted connection may be silent at first, and
	// how long a handshake may take. Default 5 s; at least 1 ms.
	HandshakeTimeout time.Duration

	// MaxHandshakes is how many handshakes of accepted connections are under way at
	// once, and how many of dialled ones. Others wait in line, which is as long as
	// Config.MaxEndpoints allows, and at most 16,384: beyond that, connections are closed and counted in
	// Stats.AcceptShed. While others wait, one whose peer does not answer for 100 ms gives
	// its place away and goes on beside the others, as one of at most 16 times as many. Of
	// more accepted ones the one that waits for longest ends. Default 64.
	MaxHandshakes int

	// MaxRecords is how many records of up to 16 KiB a connection sends under its key.
	// Behind the message that reaches it the endpoint closes with ErrKeyLimit, and is to be
	// opened again. Default 2^34.
	MaxRecords int64
}

func (t TLS) withDefaults() *TLS {
	validate.Default(&t.HandshakeTimeout, defaultHandshakeTimeout)
	validate.Default(&t.MaxHandshakes, defaultMaxHandshakes)
	validate.Default(&t.MaxRecords, defaultMaxRecords)
	return &t
}

// Validate reports all violations of t, joined; each wraps netio.ErrInvalidConfig. A nil
// TLS is valid: it is a backend without TLS.
func (t *TLS) Validate() error {
	if t == nil {
		return nil
	}
	d := t.withDefaults()
	v := validate.Violations{Kind: netio.ErrInvalidConfig}
	d.mutual().Validate(&v)
	validate.Within(&v, "TLS.HandshakeTimeout", d.HandshakeTimeout, time.Millisecond, maxKeepalive)
	validate.Within(&v, "TLS.MaxHandshakes", d.MaxHandshakes, 1, maxCount)
	if d.MaxRecords < 1 || d.MaxRecords > defaultMaxRecords {
		v.Add("TLS.MaxRecords is %d, want 1 to %d", d.MaxRecords, int64(defaultMaxRecords))
	}
	return v.Err()
}

// mutual returns what the configurations come from.
func (t *TLS) mutual() *mutual.Config {
	return &mutual.Config{Server: t.Server, Client: t.Client, Protocol: TLSProtocol}
}
