// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tagbus/access"
	"tagbus/cmd/internal/options"
	"tagbus/internal/stuck"
)

// Security are the flags about which peers may do what. Their zero value lets every peer do
// everything.
type Security struct{ options.Security }

// named reports whether there are files, which SIGHUP reads again.
func (s *Security) named() bool { return s.Cert != "" || s.ACL != "" }

// Guard decides by the files of Security, and reads them again on SIGHUP. Close it after
// the node that uses it. A nil one lets every peer do everything.
//
// Threads: any.
type Guard struct {
	access *access.Access
	tell   func(level slog.Level, text string)
	files  []string // which are read
	ended  chan struct{}
	looks  sync.WaitGroup

	mu   sync.Mutex
	told int // problems
}

// Open reads the files. It returns nil if none is named.
//
//   - tell: is called with what is read again later, and with what is wrong with the files.
//   - Errors: those of access.Open, which name the file.
func (s *Security) Open(tell func(level slog.Level, text string)) (*Guard, error) {
	if !s.named() {
		return nil, nil
	}
	c := s.Config()
	g := &Guard{tell: tell, files: s.Name(), ended: make(chan struct{})}
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

// Guard opens what the flags name, and says on a console what is read again later, and what
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
	stuck.Await(g.looks.Wait, g.files...)
	g.access.Close()
}

// Metrics returns the collectors of what the files say; none without files.
func (g *Guard) Metrics() []prometheus.Collector {
	if g == nil {
		return nil
	}
	failing := AccessFailing(g.access.Failing)
	if g.access.Identity() == nil {
		return []prometheus.Collector{failing}
	}
	return []prometheus.Collector{failing, CertificateEnd(func() time.Time { return g.access.Identity().Certificate().NotAfter })}
}

// AccessFailing returns the collector of whether a program goes by files of before.
func AccessFailing(failing func() bool) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tagbus_access_failing",
		Help: "1 while the certificates or the policy of this program cannot be read again: those of before are in use, and what was revoked since is not.",
	}, func() float64 {
		if failing() {
			return 1
		}
		return 0
	})
}

// CertificateEnd returns the collector of when the certificate of a program ends.
func CertificateEnd(ends func() time.Time) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tagbus_certificate_not_after_seconds",
		Help: "Time at which the certificate of this program ends, in seconds since 1970. Peers refuse it then: issue another one before.",
	}, func() float64 { return float64(ends().Unix()) })
}
