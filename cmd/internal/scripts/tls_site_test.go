// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/internal/testkit"
	"tagbus/tags"
)

// site is a folder with what tagbus cert makes, in which programs run.
type site struct {
	tb  testing.TB
	dir string
}

// newSite makes a CA in the folder ca.
func newSite(tb testing.TB) *site {
	tb.Helper()
	s := &site{tb, tb.TempDir()}
	s.cert("init", "--dir", s.path("ca"))
	return s
}

func (s *site) path(name string) string { return filepath.Join(s.dir, name) }

// cert runs tagbus cert.
func (s *site) cert(args ...string) {
	s.tb.Helper()
	cmd := exec.Command("tagbus", append([]string{"cert"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.tb.Fatalf("tagbus cert %s: %v: %s", strings.Join(args, " "), err, out)
	}
}

// issue makes NAME.pem and NAME.key for the peer cn:NAME, of a CA.
func (s *site) issue(ca, name string, more ...string) {
	s.tb.Helper()
	s.cert(append([]string{"issue", "--dir", s.path(ca), "--out", s.path(name), name}, more...)...)
}

// write writes a file.
func (s *site) write(name, text string) {
	s.tb.Helper()
	testkit.Must(s.tb, os.WriteFile(s.path(name), []byte(text), 0o600))
}

// read returns what a file has.
func (s *site) read(name string) string {
	s.tb.Helper()
	text, err := os.ReadFile(s.path(name))
	testkit.Must(s.tb, err)
	return string(text)
}

// replace writes a file again, whole or not at all.
func (s *site) replace(name, text string) {
	s.tb.Helper()
	s.write(name+".new", text)
	testkit.Must(s.tb, os.Rename(s.path(name+".new"), s.path(name)))
}

// as returns the flags of a peer over TLS.
func (s *site) as(name string, more ...string) []string {
	return append([]string{"--backend", "tls", "--cert", s.path(name + ".pem"), "--ca", s.path("ca/ca.pem")}, more...)
}

// pretend announces a publisher of another backend at an address.
func (s *site) pretend(bus string, backend string, at netip.AddrPort) {
	s.tb.Helper()
	d, err := file.Open(s.path(bus), file.Config{})
	testkit.Must(s.tb, err)
	s.tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			s.tb.Error(err)
		}
	})
	_, err = d.Announce(directory.Entry{
		Instance: "abcdefghijklmnopqrstuv", Host: "vm", PID: 1, Backend: backend,
		Addresses: []netip.AddrPort{at}, Tags: tags.Of(1, 2, 3, 4), PageBytes: 1 << 16, MaxMessageBytes: 1 << 20, Since: time.Now(),
	})
	testkit.Must(s.tb, err)
}

// volatile is what differs from run to run, and what stands for it.
var volatile = []struct {
	what *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`^.*? (publisher|subscriber): `), ""},
	{regexp.MustCompile(`[0-9A-Za-z]{8}@\S+ \(127\.0\.0\.1:\d+\)`), "PEER"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "ADDR"},
	{regexp.MustCompile(`serial [0-9a-f]+`), "serial N"},
	{regexp.MustCompile(`tagbus CA [0-9a-f]{8}`), "CA"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:]+Z`), "TIME"},
	{regexp.MustCompile(`\d\d:\d\d:\d\d`), "TIME"},
	{regexp.MustCompile(`0x0+([0-9a-f])`), "0x$1"},
	{regexp.MustCompile(`\(\d+ times\)`), "(N times)"},
	{regexp.MustCompile(`failed=\d+`), "failed=N"},
}

// steady returns a line without what differs from run to run.
func (s *site) steady(line string) string {
	line = strings.ReplaceAll(line, s.dir+"/", "")
	line = regexp.MustCompile(`the entry of \w+ \(@[^)]*\)`).ReplaceAllString(line, "the entry of INSTANCE (@HOST)")
	for _, v := range volatile {
		line = v.what.ReplaceAllString(line, v.as)
	}
	return line
}

// overTCP leaves a test out where the tests are about another transport: in the virtual machine of
// make verbs, whose host has no name.
func overTCP(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out with -short: TLS is no matter of RDMA")
	}
}
