// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"

	"tagbus/internal/filewatch"
)

// Config says where a Store finds what it needs.
type Config struct {
	// Certificate is a PEM file: the own certificate, and behind it the intermediates between it
	// and a CA of the peers, if there are any.
	Certificate string

	// Key is a PEM file with the private key of the certificate.
	Key string

	// CA is a PEM file with the certificates of the CAs that peers may have theirs from. While a
	// CA is replaced it has both.
	CA string

	// Revoked are files with lists of revoked certificates, PEM or DER. Once the list of an issuer
	// should have been renewed, its certificates no longer open new connections.
	Revoked []string

	// MaxChain is how many certificates a chain may have, from that of a peer to a CA, both
	// included. 0: 5.
	MaxChain int

	// Every is the time between two looks at the files. 0: 10 s.
	Every time.Duration

	// Report, if not nil, is called with what a look at the files finds, when it is new. Calls
	// come one after the other; they must not call Reload or Close.
	Report func(Report)

	// Now returns the time. nil: time.Now.
	Now func() time.Time
}

// Report is what a look at the files found.
type Report struct {
	Loaded   bool    // what the files say is in use from now on
	Err      error   // why they cannot be used, a *FileError; what was read before stays in use
	Warnings []error // each a *FileError: what is unsafe, or ends soon; each is reported once
}

// ErrInvalidConfig is the error of a Config in which something is missing. Name the file.
var ErrInvalidConfig = errors.New("identity: Certificate, Key and CA must each name a file, and MaxChain and Every not be negative")

// paths returns the files in the order in which load gets them.
func (c *Config) paths() []string { return append([]string{c.Certificate, c.Key, c.CA}, c.Revoked...) }

// Store has the own certificate, and what decides which others count.
//
// Threads: all methods may be called by any goroutine.
type Store struct {
	config Config
	keeper *filewatch.Keeper[*credentials]

	// What follows is used during a look only, of which there is one at a time.
	report Report
	said   map[string]bool // warnings that last
}

// Open reads the files, and looks at them again and again until Close.
//
//   - Errors: ErrInvalidConfig; *FileError.
func Open(c Config) (*Store, error) {
	if c.Certificate == "" || c.Key == "" || c.CA == "" || c.MaxChain < 0 || c.Every < 0 {
		return nil, ErrInvalidConfig
	}
	if c.MaxChain == 0 {
		c.MaxChain = 5
	}
	if c.Every == 0 {
		c.Every = 10 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Store{config: c}
	first := true
	keeper, err := filewatch.Open(filewatch.Config[*credentials]{
		Paths: c.paths(), MaxBytes: maxFileBytes, Every: c.Every,
		Make: func(files []filewatch.File) (*credentials, error) {
			r, err := s.config.load(files)
			if err == nil && first { // before there are looks
				first = false
				s.report.Loaded = true
				s.looked(r)
			}
			return r, err
		},
		Loaded: func(*credentials) { s.report.Loaded = true },
		Failed: func(err error) { s.report.Err = fileErrorOf(err) },
		Looked: s.looked,
	})
	if err != nil {
		return nil, fileErrorOf(err)
	}
	s.keeper = keeper
	return s, nil
}

// looked reports what is new after a look.
func (s *Store) looked(r *credentials) {
	report := s.report
	s.report = Report{}
	said := make(map[string]bool)
	for _, w := range r.warn(s.config.Now()) {
		if text := w.Error(); !said[text] {
			said[text] = true
			if report.Loaded || !s.said[text] {
				report.Warnings = append(report.Warnings, w)
			}
		}
	}
	s.said = said
	if s.config.Report != nil && (report.Loaded || report.Err != nil || len(report.Warnings) > 0) {
		s.config.Report(report)
	}
}

// Failing reports whether the files could not be used at the last look, or their file system
// does not answer, so that earlier ones are in use.
//
//   - Blocks: never. Allocates: no.
func (s *Store) Failing() bool { return s.keeper.Failing() }

// Reload looks at the files now, as on SIGHUP.
//
//   - Errors: *FileError; what was read before stays in use.
func (s *Store) Reload() error { return fileErrorOf(s.keeper.Reload()) }

// Close ends the looks at the files. What was read stays in use.
func (s *Store) Close() { s.keeper.Close() }

// Principal returns what the own certificate calls this process.
func (s *Store) Principal() Principal { return s.keeper.Current().names }

// Certificate returns the own certificate, which must not be changed.
func (s *Store) Certificate() *x509.Certificate { return s.keeper.Current().own.Leaf }

// KeyPair returns the own certificate with the intermediates behind it and its key, as the files
// said last. They must not be changed.
func (s *Store) KeyPair() *tls.Certificate { return &s.keeper.Current().own }

// Chain returns the own certificate and the intermediate ones that are shown behind it, which
// must not be changed.
func (s *Store) Chain() []*x509.Certificate { return s.keeper.Current().ownChain() }

// Verify reports which peer has shown certificates: its own one first, and intermediates in any
// order.
//
//   - usage: ExtKeyUsageServerAuth for a peer that was dialled, ExtKeyUsageClientAuth for one that
//     has dialled, ExtKeyUsageAny if it does not matter.
//   - Errors: *ChainError.
//   - Blocks: never; takes as long as to check some signatures, under a millisecond.
func (s *Store) Verify(shown []*x509.Certificate, usage x509.ExtKeyUsage) (*Peer, error) {
	return s.keeper.Current().verify(shown, usage, s.config.Now())
}

// Check reports why the connection of a peer that Verify has returned must end: a certificate of
// its chain has expired or was revoked, or its CA is no longer in the file.
//
//   - Errors: *ChainError.
//   - Blocks: never. Computes no signature, unless the CA has left the file.
func (s *Store) Check(p *Peer) error { return s.keeper.Current().check(p, s.config.Now()) }

// Server returns a configuration for the side that listens. Each handshake uses what the files
// said last. The caller may change what is returned, for example to set NextProtos.
//
// VerifyConnection returns a *ChainError if the peer's certificate does not count, and the peer
// gets an alert. The error of Server itself is always nil: netio/tcp takes functions of this shape.
func (s *Store) Server() (*tls.Config, error) {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return &s.keeper.Current().own, nil
		},
		ClientAuth:             tls.RequireAnyClientCert, // VerifyConnection verifies it
		VerifyConnection:       s.verifyConnection(x509.ExtKeyUsageClientAuth),
		SessionTicketsDisabled: true, // connections last: nothing is resumed
		Time:                   s.config.Now,
	}, nil
}

// Client returns a configuration for the side that dials, as Server does for the other one.
func (s *Store) Client() (*tls.Config, error) {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return &s.keeper.Current().own, nil
		},
		InsecureSkipVerify:     true, // VerifyConnection verifies it, without the name of a host
		VerifyConnection:       s.verifyConnection(x509.ExtKeyUsageServerAuth),
		SessionTicketsDisabled: true,
		Time:                   s.config.Now,
	}, nil
}

func (s *Store) verifyConnection(usage x509.ExtKeyUsage) func(tls.ConnectionState) error {
	return func(c tls.ConnectionState) error {
		_, err := s.Verify(c.PeerCertificates, usage)
		return err
	}
}
