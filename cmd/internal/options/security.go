// SPDX-License-Identifier: Apache-2.0

package options

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tagbus/access"
	"tagbus/identity"
	"tagbus/internal/stuck"
)

// Security are the flags about which peers may do what. Their zero value lets every peer do
// everything.
type Security struct {
	Cert    string   `placeholder:"FILE" help:"Certificate of this program, PEM, with the intermediate ones behind it: --backend auto is shm,tls then. See tagbus cert. Default: none."`
	Key     string   `placeholder:"FILE" help:"Its private key, with mode 600. Default: the file of --cert with .key in the place of its ending."`
	CA      string   `name:"ca" placeholder:"FILE" help:"Certificates of the CAs, PEM, from which those of peers must come; several while the CA is replaced."`
	Revoked []string `placeholder:"FILE" help:"Lists of revoked certificates, as tagbus cert revoke writes them. It may be given more than once. Default: none."`
	ACL     string   `name:"acl" placeholder:"FILE" help:"Policy that says which peer may do what with which tags: see tagbus acl. Without certificates all peers are anonymous to it. These files are read again every 10s, and at once on SIGHUP. Default: all peers may do everything."`
}

// Check reports what is wrong with the flags together.
//
//   - backend: what --backend says; may be empty.
func (s *Security) Check(backend string) error {
	certificates := s.Cert != "" || s.Key != "" || s.CA != "" || len(s.Revoked) > 0
	switch {
	case !certificates && names(backend, tlsBackend):
		return fmt.Errorf("--backend %s needs --cert and --ca: tagbus cert init and tagbus cert issue make them", backend)
	case !certificates:
		return nil
	case s.Cert == "":
		return errors.New("--key, --ca and --revoked are for the certificate of --cert, which is missing")
	case s.CA == "":
		return errors.New("--cert needs --ca: the certificates from which those of peers must come")
	case !takesCertificates(backend):
		return fmt.Errorf("--backend %s does not use the certificate of --cert, and what is sent could be read on its way: use --backend tls or shm,tls, or leave --cert out", backend)
	}
	return nil
}

// Values of --backend.
const (
	tlsBackend  = "tls"
	shmBackend  = "shm"
	autoBackend = "auto"
)

// names reports whether a list of backends has one.
func names(list, backend string) bool { return slices.Contains(strings.Split(list, ","), backend) }

// takesCertificates reports whether all backends of a list ask peers for certificates.
func takesCertificates(list string) bool {
	if list == "" || list == autoBackend {
		return true
	}
	return !slices.ContainsFunc(strings.Split(list, ","), func(backend string) bool { return backend != tlsBackend && backend != shmBackend })
}

// Transport returns the backend, which a node chooses by default.
//
//   - backend: what --backend says; may be empty.
func (s *Security) Transport(backend string) string { return cmp.Or(backend, autoBackend) }

// Args returns the flags as a command line has them, for another process.
func (s *Security) Args() (args []string) {
	for _, flag := range []struct{ name, value string }{{"--cert", s.Cert}, {"--key", s.Key}, {"--ca", s.CA}, {"--acl", s.ACL}} {
		if flag.value != "" {
			args = append(args, flag.name, flag.value)
		}
	}
	for _, file := range s.Revoked {
		args = append(args, "--revoked", file)
	}
	return args
}

// Config returns the configuration of the files.
func (s *Security) Config() access.Config {
	c := access.Config{Policy: s.ACL}
	if s.Cert != "" {
		c.Identity = identity.Config{Certificate: s.Cert, Key: s.key(), CA: s.CA, Revoked: s.Revoked}
	}
	return c
}

// key returns the file of the private key; "" if there is no certificate.
func (s *Security) key() string {
	if s.Cert == "" {
		return s.Key
	}
	return cmp.Or(s.Key, strings.TrimSuffix(s.Cert, filepath.Ext(s.Cert))+".key")
}

// Name makes notes about the files name their flags, also about that of the key, which may have
// none of its own, and returns the files.
func (s *Security) Name() (files []string) {
	stuck.Named(s.key(), "--key")
	for _, file := range append([]string{s.Cert, s.key(), s.CA, s.ACL}, s.Revoked...) {
		if file != "" {
			files = append(files, file)
		}
	}
	return files
}
