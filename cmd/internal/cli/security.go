// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tagbus/access"
	"tagbus/identity"
	"tagbus/internal/stuck"
)

// Security are the flags about which peers may do what. Their zero value lets every peer do
// everything.
type Security struct {
	Cert    string   `placeholder:"FILE" help:"Certificate of this program, PEM, with the intermediate ones behind it: --backend is tls then. See tagbus cert. Default: none."`
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
	case !certificates && backend == tlsBackend:
		return errors.New("--backend tls needs --cert and --ca: tagbus cert init and tagbus cert issue make them")
	case !certificates:
		return nil
	case s.Cert == "":
		return errors.New("--key, --ca and --revoked are for the certificate of --cert, which is missing")
	case s.CA == "":
		return errors.New("--cert needs --ca: the certificates from which those of peers must come")
	case backend != "" && backend != tlsBackend:
		return fmt.Errorf("--backend %s does not use the certificate of --cert, and what is sent could be read on its way: use --backend tls, or leave --cert out", backend)
	}
	return nil
}

const tlsBackend = "tls"

// Transport returns the backend: tls by default if there is a certificate.
//
//   - backend: what --backend says; may be empty.
func (s *Security) Transport(backend string) string {
	if backend == "" && s.Cert != "" {
		return tlsBackend
	}
	return cmp.Or(backend, "tcp")
}

// named reports whether there are files, which SIGHUP reads again.
func (s *Security) named() bool { return s.Cert != "" || s.ACL != "" }

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

// config returns the configuration of the files.
func (s *Security) config() access.Config {
	c := access.Config{Policy: s.ACL}
	if s.Cert != "" {
		key := cmp.Or(s.Key, strings.TrimSuffix(s.Cert, filepath.Ext(s.Cert))+".key")
		c.Identity = identity.Config{Certificate: s.Cert, Key: key, CA: s.CA, Revoked: s.Revoked}
	}
	return c
}

// Guard decides by the files of Security, and reads them again on SIGHUP. Close it after
// the node that uses it. A nil one lets every peer do everything.
//
// Threads: any.
type Guard struct {
	access *access.Access
	tell   func(level slog.Level, text string)
	ended  chan struct{}
	looks  sync.WaitGroup

	mu   sync.Mutex
	told int // problems
}

// Open reads the files. It returns nil if none is named.
//
//   - tell: is called with what is read anew later, and with what is wrong with the files.
//   - Errors: those of access.Open, which name the file.
func (s *Security) Open(tell func(level slog.Level, text string)) (*Guard, error) {
	if !s.named() {
		return nil, nil
	}
	g := &Guard{tell: tell, ended: make(chan struct{})}
	c := s.config()
	c.Report = g.report
	c.Renewed = func(what string) { tell(slog.LevelInfo, what) }
	var err error
	if g.access, err = access.Open(c); err != nil {
		return nil, err
	}
	hups := make(chan os.Signal, 1)
	signal.Notify(hups, syscall.SIGHUP)
	g.looks.Go(func() {
		defer signal.Stop(hups)
		for {
			select {
			case <-hups:
				g.reload()
			case <-g.ended:
				return
			}
		}
	})
	return g, nil
}

// Guard opens what the flags name, and says on a console what is read anew later, and what
// is wrong with the files.
//
// Errors: those of Open.
func (s *Security) Guard(c *Console) (*Guard, error) {
	return s.Open(func(level slog.Level, text string) {
		if c.enabled(level) {
			c.try(c.record(level, "security", nil, "%s", text))
		}
	})
}

// report tells what is wrong with the files.
func (g *Guard) report(err error) {
	if err == nil {
		return
	}
	g.mu.Lock()
	g.told++
	g.mu.Unlock()
	g.tell(slog.LevelWarn, Text(err))
}

// reload looks at the files because a person wants it, and says what is wrong even if that
// was said before.
func (g *Guard) reload() {
	before := g.problems()
	err := g.access.Reload()
	switch {
	case err == nil:
		g.tell(slog.LevelInfo, "SIGHUP: certificates and policy were read again")
	case g.problems() == before:
		g.tell(slog.LevelWarn, Text(err))
	}
}

func (g *Guard) problems() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.told
}

// Access returns what a node takes; nil of a nil Guard.
func (g *Guard) Access() *access.Access {
	if g == nil {
		return nil
	}
	return g.access
}

// Close ends the looks at the files, and waits for one that runs, unless the file system does
// not answer it.
func (g *Guard) Close() {
	if g == nil {
		return
	}
	close(g.ended)
	stuck.Await(g.looks.Wait)
	g.access.Close()
}

// Metrics returns the collectors of what the files say; none without certificates.
func (g *Guard) Metrics() []prometheus.Collector {
	if g == nil || g.access.Identity() == nil {
		return nil
	}
	return []prometheus.Collector{CertificateEnd(func() time.Time { return g.access.Identity().Certificate().NotAfter })}
}

// CertificateEnd returns the collector of when the certificate of a program ends.
func CertificateEnd(ends func() time.Time) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tagbus_certificate_not_after_seconds",
		Help: "Time at which the certificate of this program ends, in seconds since 1970. Peers refuse it then: issue another one before.",
	}, func() float64 { return float64(ends().Unix()) })
}
