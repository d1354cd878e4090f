// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/pki"
)

// misfit is a publisher and a subscriber that do not let each other in, and what both say of
// it. docs/security.md has the same texts.
type misfit struct {
	name                  string
	publisher, subscriber []string
	lies                  string // the backend that the entry names; empty: the true one
	says, hears           string // by the publisher and by the subscriber; empty: nothing
}

func misfits(s *site) []misfit {
	return []misfit{
		{
			name:      "plain client to a TLS port, by its entry",
			publisher: s.as("daq"), subscriber: []string{"--backend", "tcp"},
			hears: `refused PEER: bus: publisher speaks "tls", this subscriber "tcp": give --cert and --ca, the certificates of this program (tagbus cert issue makes them)`,
		},
		{
			name:      "TLS client to a plain port, by its entry",
			publisher: []string{"--backend", "tcp"}, subscriber: s.as("dcs"),
			hears: `problem: directory: the entry of INSTANCE (@HOST) is not used: it is not signed: start its process with certificates`,
		},
		{
			name:      "plain client to a TLS port",
			publisher: s.as("daq"), subscriber: []string{"--backend", "tcp"}, lies: "tcp",
			says:  `tcp: an accepted connection is closed before it is secure remote=ADDR failed=N err="the peer speaks plain tcp: use the same backend, \"tls\", at both ends"`,
			hears: `refused PEER: netio: receive ADDR: the peer speaks TLS: give --cert and --ca, the certificates of this program (tagbus cert issue makes them): netio: peer announced an impossible message length: 542329940 bytes, want 1 to 4096`,
		},
		{
			name:      "TLS client to a plain port",
			publisher: []string{"--backend", "tcp"}, subscriber: s.as("dcs"), lies: "tls",
			hears: `problem: directory: the entry of INSTANCE (@HOST) is not used: it is not signed: start its process with certificates`,
		},
		{
			name:      "wrong CA of the client",
			publisher: s.as("daq"), subscriber: s.as("stranger"),
			says:  `tcp: an accepted connection is closed before it is secure remote=ADDR failed=N err="tcp: the TLS handshake failed: certificate cn:stranger (serial N): no chain to a CA that is trusted here (issued by CN=CA)"`,
			hears: `refused PEER: netio: open endpoint ADDR: tcp: the TLS handshake failed: the peer has refused the certificate of this side: remote error: tls: bad certificate`,
		},
		{
			name:      "wrong CA of the server",
			publisher: s.as("stranger"), subscriber: s.as("dcs"),
			hears: `problem: directory: the entry of INSTANCE (@HOST) is not used: certificate cn:stranger (serial N): no chain to a CA that is trusted here (issued by CN=CA)`,
		},
		{
			name:      "wrong name",
			publisher: s.as("dcs"), subscriber: s.as("dcs", "--acl", s.path("policy.json")),
			hears: `problem: directory: the entry of INSTANCE (@HOST), signed by cn:dcs, is not used: not covered by the policy: publish 0x1-0x4: nearest is rule 2 (cn:dcs), which lets it subscribe to the tag, and not publish it`,
		},
		{
			name:      "right name and no rule",
			publisher: s.as("daq", "--acl", s.path("policy.json")), subscriber: s.as("none"),
			says:  `refused PEER: cn:none may not subscribe to anything here: no rule such as {"who":"cn:none","subscribe":"TAGS"}; no rule is near`,
			hears: `refused PEER: cn:none may not subscribe to anything here: no rule such as {"who":"cn:none","subscribe":"TAGS"}`,
		},
		{
			name:      "a rule for half of it",
			publisher: s.as("daq", "--acl", s.path("policy.json")), subscriber: s.as("dcs"),
			says:  `refused PEER tags 0x3-0x4: cn:dcs may not subscribe to 0x3-0x4: no rule such as {"who":"cn:dcs","subscribe":"0x3-0x4"}; nearest is rule 2 (cn:dcs), which lets it subscribe to 0x1-0x2`,
			hears: `refused PEER tags 0x3-0x4: cn:dcs may not subscribe to 0x3-0x4: no rule such as {"who":"cn:dcs","subscribe":"0x3-0x4"}`,
		},
		{
			name:      "no certificate, with a policy",
			publisher: []string{"--backend", "tcp", "--acl", s.path("anonymous.json")}, subscriber: []string{"--backend", "tcp"},
			says:  `refused PEER: anonymous may not subscribe to anything here: no rule such as {"who":"anonymous","subscribe":"TAGS"}; nearest is rule 1 (anonymous), which is for it, and does not let it subscribe to any tag`,
			hears: `refused PEER: anonymous may not subscribe to anything here: no rule such as {"who":"anonymous","subscribe":"TAGS"}`,
		},
	}
}

// misfitSite has the certificates and policies of misfits.
func misfitSite(t *testing.T) *site {
	s := newSite(t)
	s.cert("init", "--dir", s.path("other"))
	for _, name := range []string{"daq", "dcs", "none"} {
		s.issue("ca", name)
	}
	s.issue("other", "stranger")
	s.write("policy.json", `{"rules":[{"who":"cn:daq","publish":"1-4"},{"who":"cn:dcs","subscribe":"1-2"}]}`)
	s.write("anonymous.json", `{"rules":[{"who":"anonymous","publish":"1-4"}]}`)
	return s
}

// listening returns where a publisher listens.
func listening(t *testing.T, p *program) netip.AddrPort {
	t.Helper()
	line := p.await(`publishes on `)
	at, err := netip.ParseAddrPort(regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line))
	testkit.Must(t, err)
	return at
}

// refusal is a line about a peer that is not let in, or the reason for which a connection ends.
const refusal = `publisher: (refused|lost|tcp: an accepted)|subscriber: (refused|lost|problem)`

func TestBothProgramsSayWhyTheyDoNotMatch(t *testing.T) {
	overTCP(t)
	s := misfitSite(t)
	for i, tt := range misfits(s) {
		t.Run(tt.name, func(t *testing.T) {
			bus := "bus" + string(rune('a'+i))
			common := []string{"--bus", s.path(bus), "--tags", "1-4"}
			p := run(t, "publisher", append(append([]string{"publisher", "--listen", "127.0.0.1:0", "--emulate", "100", "--rate", "10"}, common...), tt.publisher...)...)
			at := listening(t, p)
			if tt.lies != "" {
				bus += "-lies"
				common[1] = s.path(bus)
				s.pretend(bus, tt.lies, at)
			}
			c := run(t, "subscriber", append(append([]string{"subscriber"}, common...), tt.subscriber...)...)
			for _, end := range []struct {
				p    *program
				want string
			}{{p, tt.says}, {c, tt.hears}} {
				if end.want == "" {
					continue
				}
				s.says(t, end.p, refusal, end.want)
			}
		})
	}
}

// documented returns whether docs/security.md has a text.
func documented(t *testing.T, text string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "security.md"))
	testkit.Must(t, err)
	if !strings.Contains(string(page), text) {
		t.Errorf("docs/security.md does not have %s", text)
	}
}

// says compares a line of a program, and the document, with a text.
func (s *site) says(t *testing.T, p *program, pattern, want string) {
	t.Helper()
	if got := s.steady(p.await(pattern)); got != want {
		t.Errorf("%s:\n got %s\nwant %s", p.name, got, want)
	}
	documented(t, want)
}

func TestABrowserAtATLSPortIsToldWhatItIs(t *testing.T) {
	overTCP(t)
	s := newSite(t)
	s.issue("ca", "daq")
	p := run(t, "publisher", append([]string{"publisher", "--bus", s.path("bus"), "--listen", "127.0.0.1:0", "--tags", "1", "--emulate", "10", "--rate", "10"}, s.as("daq")...)...)
	answer, err := http.Get("http://" + listening(t, p).String() + "/")
	testkit.Must(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	testkit.Must(t, err)
	const want = "This port speaks tagbus over TLS, not HTTP."
	if got := strings.TrimSpace(string(body)); answer.StatusCode != http.StatusBadRequest || got != want {
		t.Errorf("got status %d and %q, want 400 and %q", answer.StatusCode, got, want)
	}
	documented(t, want)
	s.says(t, p, "an accepted", `tcp: an accepted connection is closed before it is secure remote=ADDR failed=N err="the peer speaks plain tcp: use the same backend, \"tls\", at both ends"`)
}

// A certificate that does not count now is refused by its own program, before anything is
// sent.
func TestAProgramRefusesItsOwnCertificate(t *testing.T) {
	overTCP(t)
	s, ca := newSite(t), pki.NewCA(t, "cn:site")
	now := time.Now()
	for _, tt := range []struct {
		name     string
		from, to time.Time
		want     string
	}{
		{"expired", now.Add(-2 * time.Hour), now.Add(-time.Hour), "expired.pem: certificate cn:x (serial N): expired (it ended at TIME): issue a new one"},
		{"early", now.Add(time.Hour), now.Add(2 * time.Hour), "early.pem: certificate cn:x (serial N): not yet valid (it begins at TIME): set the clock of this host, or issue a new one"},
	} {
		own := ca.Issue(t, "cn:x", pki.Valid(tt.from, tt.to))
		s.write(tt.name+".pem", string(pki.PEM(own)))
		s.write(tt.name+".key", string(own.KeyPEM(t)))
		for _, command := range []string{"publisher", "subscriber"} {
			args := []string{command, "--bus", s.path("bus"), "--tags", "1"}
			if command == "publisher" {
				args = append(args, "--emulate", "10")
			}
			p := run(t, command, append(args, s.as(tt.name)...)...)
			s.says(t, p, "certificate", tt.want)
			p.finish(1)
		}
	}
}

// pair runs a publisher and a subscriber that has messages of it.
func (s *site) pair(t *testing.T, publisher, subscriber []string) (p, c *program) {
	t.Helper()
	p = run(t, "publisher", append([]string{"publisher", "--bus", s.path("bus"), "--listen", "127.0.0.1:0", "--tags", "1-4", "--emulate", "100", "--rate", "100"}, publisher...)...)
	listening(t, p)
	c = run(t, "subscriber", append([]string{"subscriber", "--bus", s.path("bus"), "--tags", "1-4", "--json"}, subscriber...)...)
	c.await("subscriber: subscribed .* tags ")
	return p, c
}

// TestConnectionsThatNoLongerMayEnd: with the reason at both ends, and others go on.
func TestConnectionsThatNoLongerMayEnd(t *testing.T) {
	overTCP(t)
	t.Run("expired", func(t *testing.T) {
		s, ca := newSite(t), pki.NewCA(t, "cn:site")
		now := time.Now()
		for name, own := range map[string]*pki.Issued{
			"daq": ca.Issue(t, "cn:daq"), "dcs": ca.Issue(t, "cn:dcs", pki.Valid(now.Add(-time.Hour), now.Add(4*time.Second))),
		} {
			s.write(name+".pem", string(pki.PEM(own)))
			s.write(name+".key", string(own.KeyPEM(t)))
		}
		s.replace("ca/ca.pem", string(pki.PEM(ca)))
		p, c := s.pair(t, s.as("daq"), s.as("dcs"))
		const want = "PEER: certificate cn:dcs (serial N): expired (it ended at TIME)"
		s.says(t, p, "publisher: refused", "refused "+want)
		s.says(t, c, "subscriber: lost", "lost "+want)
	})
	t.Run("revoked", func(t *testing.T) {
		s := misfitSite(t)
		s.cert("revoke", "--dir", s.path("ca"), s.path("none.pem"))
		p, c := s.pair(t, s.as("daq", "--revoked", s.path("ca/ca.crl")), s.as("dcs"))
		s.cert("revoke", "--dir", s.path("ca"), s.path("dcs.pem"))
		p.signal(syscall.SIGHUP)
		const want = "PEER: certificate cn:dcs (serial N): revoked (at TIME)"
		s.says(t, p, "publisher: refused", "refused "+want)
		s.says(t, c, "subscriber: lost", "lost "+want)
	})
	t.Run("no rule any more", func(t *testing.T) {
		s := misfitSite(t)
		s.write("policy.json", `{"rules":[{"who":"cn:daq","publish":"1-4"},{"who":"cn:dcs","subscribe":"1-4"}]}`)
		p, c := s.pair(t, s.as("daq", "--acl", s.path("policy.json")), s.as("dcs"))
		s.replace("policy.json", `{"rules":[{"who":"cn:daq","publish":"1-4"},{"who":"cn:dcs","subscribe":"1-2"}]}`)
		p.signal(syscall.SIGHUP)
		s.says(t, p, "another policy", "policy.json: another policy is in use, of 2 rules")
		const want = `refused PEER tags 0x3-0x4: cn:dcs may not subscribe to 0x3-0x4: no rule such as {"who":"cn:dcs","subscribe":"0x3-0x4"}`
		s.says(t, p, "publisher: refused", want+"; nearest is rule 2 (cn:dcs), which lets it subscribe to 0x1-0x2")
		s.says(t, c, "subscriber: refused", want)
	})
}

// TestABrokenPolicyStaysOut: at each look a person wants, the mistake is said.
func TestABrokenPolicyStaysOut(t *testing.T) {
	overTCP(t)
	s := misfitSite(t)
	p, c := s.pair(t, s.as("daq", "--acl", s.path("policy.json")), s.as("dcs"))
	good := s.read("policy.json")
	s.replace("policy.json", strings.Replace(good, "1-2", "1-x", 1))
	const want = `policy.json:1: rule 2: subscribe: tags: parse "1-x" at byte 2: invalid syntax: want a decimal or 0x number; the policy of TIME stays in use`
	p.signal(syscall.SIGHUP)
	s.says(t, p, "stays in use", want)
	said := len(p.linesFrom(0))
	p.signal(syscall.SIGHUP)
	again := run(t, "again", append([]string{"subscriber", "--bus", s.path("bus"), "--tags", "1-2", "--count", "3"}, s.as("dcs")...)...)
	again.finish(0) // by the policy that was read before
	p.awaitFrom(said, "stays in use")
	s.replace("policy.json", good)
	p.signal(syscall.SIGHUP)
	p.await("SIGHUP: certificates and policy were read again")
	c.signal(syscall.SIGINT)
	c.finish(1) // it has asked for more than the policy allows
	var sum struct{ Lost, Messages, Refused uint64 }
	c.summary(&sum)
	if sum.Lost != 0 || sum.Messages == 0 || sum.Refused != 1 {
		t.Errorf("got %d messages, %d lost and %d that refused, want some, 0 and 1", sum.Messages, sum.Lost, sum.Refused)
	}
}
