// SPDX-License-Identifier: Apache-2.0

//go:build linux

package mutual

import (
	"crypto/tls"
	"fmt"

	"tagbus/internal/validate"
	"tagbus/netio"
)

// Config is what the configurations of both sides come from. Its users call it TLS.
type Config struct {
	Server, Client func() (*tls.Config, error)
	Protocol       string // of every connection (ALPN)
}

// Validate adds what is missing to v.
func (c *Config) Validate(v *validate.Violations) {
	if c.Server == nil {
		v.Add("TLS.Server is nil, want the configuration of the side that accepts")
	}
	if c.Client == nil {
		v.Add("TLS.Client is nil, want the configuration of the side that dials")
	}
}

// ForServer returns what the side that accepts uses for one handshake.
//
// Errors: netio.ErrInvalidConfig, wrapped; those of Server.
func (c *Config) ForServer() (*tls.Config, error) {
	own, err := c.Server()
	if err != nil || own == nil {
		return nil, missing("Server", err)
	}
	own = own.Clone()
	if own.ClientAuth == tls.NoClientCert {
		own.ClientAuth = tls.RequireAndVerifyClientCert
	}
	v := validate.Violations{Kind: netio.ErrInvalidConfig}
	switch verifies := own.VerifyConnection != nil; {
	case own.ClientAuth == tls.RequireAnyClientCert && verifies:
	case own.ClientAuth != tls.RequireAndVerifyClientCert:
		v.Add("ClientAuth of TLS.Server is %v, want %v, or %v with VerifyConnection", own.ClientAuth, tls.RequireAndVerifyClientCert, tls.RequireAnyClientCert)
	case own.ClientCAs == nil:
		v.Add("ClientCAs of TLS.Server is nil, want the CA of the peers: the system's CAs would let strangers in")
	}
	if own.GetConfigForClient != nil {
		v.Add("GetConfigForClient of TLS.Server is set, want nil: TLS.Server itself is called for each connection")
	}
	if own.CurvePreferences == nil {
		// A stranger chooses among these, and the larger curves of NIST cost many times as
		// much. All peers have one of these: it is what crypto/tls offers first.
		own.CurvePreferences = []tls.CurveID{tls.X25519MLKEM768, tls.X25519, tls.CurveP256}
	}
	return own, c.harden(own, &v)
}

// ForClient returns what the side that dials uses for one handshake.
//
//   - name: the ServerName if the configuration has none.
//   - Errors: netio.ErrInvalidConfig, wrapped; those of Client.
func (c *Config) ForClient(name string) (*tls.Config, error) {
	own, err := c.Client()
	if err != nil || own == nil {
		return nil, missing("Client", err)
	}
	own = own.Clone()
	v := validate.Violations{Kind: netio.ErrInvalidConfig}
	switch {
	case own.VerifyConnection != nil:
	case own.InsecureSkipVerify:
		v.Add("InsecureSkipVerify of TLS.Client is true without VerifyConnection: any peer would do")
	case own.RootCAs == nil:
		v.Add("RootCAs of TLS.Client is nil, want the CA of the peers: the system's CAs would let strangers in")
	}
	if own.ServerName == "" {
		own.ServerName = name
	}
	own.ClientSessionCache = nil
	return own, c.harden(own, &v)
}

// missing is the error for a configuration that a callback does not return.
func missing(side string, err error) error {
	if err != nil {
		return fmt.Errorf("TLS.%s: %w", side, err)
	}
	return fmt.Errorf("%w: TLS.%s has returned nil, want a configuration", netio.ErrInvalidConfig, side)
}

// harden sets what no configuration may set otherwise.
func (c *Config) harden(own *tls.Config, v *validate.Violations) error {
	own.MinVersion, own.MaxVersion = tls.VersionTLS13, tls.VersionTLS13
	own.NextProtos = []string{c.Protocol}
	own.SessionTicketsDisabled = true
	own.DynamicRecordSizingDisabled = true // pages are cut into full records from the first on
	own.EncryptedClientHelloConfigList, own.EncryptedClientHelloKeys = nil, nil
	return v.Err()
}
