// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"regexp"
	"strings"
	"testing"
)

// TestWhatIsDeniedIsAFailure: a command that was not let have what it asked for says so at its
// end, with status 1, and a recording without it is not whole.
func TestWhatIsDeniedIsAFailure(t *testing.T) {
	overTCP(t)
	s := newSite(t)
	for _, name := range []string{"pub", "sub", "tool"} {
		s.issue("ca", name)
	}
	s.write("acl.json", `{"rules":[{"who":"cn:pub","publish":"0x100-0x10f","receive":"0x200","send":"0x200"},{"who":"cn:sub","subscribe":"0x100-0x101"}]}`)
	on := func(command []string, more ...string) []string {
		return append(append(append([]string{}, command...), "--bus", s.path("bus")), more...)
	}
	p := run(t, "publisher", on([]string{"publisher", "--listen", "127.0.0.1:0", "--name", "pub", "--tags", "0x100-0x103", "--emulate", "100", "--rate", "200"}, s.as("pub", "--acl", s.path("acl.json"))...)...)
	listening(t, p)
	r := run(t, "subscriber", on([]string{"subscriber", "--receive", "--listen", "127.0.0.1:0", "--name", "in", "--tags", "0x200"}, s.as("pub", "--acl", s.path("acl.json"))...)...)
	r.await("receives 0x")
	plain := []string{"--backend", "tcp"}
	const (
		half   = `1 publisher refused: pub@\S+ \(ADDR\) tags 0x102-0x103: cn:sub may not subscribe to 0x102-0x103: no rule such as \S+: add the rule to the policy, or ask only for what it allows`
		none   = `1 publisher refused: pub@\S+ \(ADDR\): cn:tool may not subscribe to anything here: no rule such as \S+: add the rule to the policy, or ask only for what it allows`
		noTLS  = `1 publisher refused: pub@\S+ \(ADDR\): bus: publisher speaks "tls", this subscriber "tcp": give --cert and --ca`
		noSend = `1 receiver refused: in@\S+ \(ADDR\): cn:tool may not send anything here: no rule such as \S+: add the rule`
	)
	record, subscriber, sub := []string{"tagbus", "record"}, []string{"subscriber", "--duration", "1s", "--json"}, []string{"tagbus", "sub", "--for", "1s"}
	for _, tt := range []struct {
		name    string
		command []string
		flags   []string
		want    string // empty: status 0
	}{
		{"record, all is allowed", append(record, "0x100-0x101", s.path("all.tbr"), "--duration", "1s"), s.as("sub"), ""},
		{"record, half", append(record, "0x100-0x103", s.path("half.tbr"), "--duration", "1s"), s.as("sub"), half},
		{"record, nothing", append(record, "0x100-0x103", s.path("none.tbr"), "--duration", "1s"), s.as("tool"), none},
		{"record, plain", append(record, "0x100-0x103", s.path("plain.tbr"), "--duration", "1s"), plain, noTLS},
		{"subscriber, all is allowed", append(subscriber, "--tags", "0x100"), s.as("sub"), ""},
		{"subscriber, half", append(subscriber, "--tags", "*"), s.as("sub"), half},
		{"subscriber, nothing", append(subscriber, "--tags", "0x100"), s.as("tool"), none},
		{"subscriber, plain", append(subscriber, "--tags", "0x100"), plain, noTLS},
		{"sub, all is allowed", append(sub, "0x100"), s.as("sub"), ""},
		{"sub, half", append(sub, "0x100-0x103"), s.as("sub"), half},
		{"sub, plain", append(sub, "0x100-0x103"), plain, noTLS},
		{"sub, half, and no more is wanted", []string{"tagbus", "sub", "0x100-0x103", "--count", "1"}, s.as("sub"), ""},
		{"publisher --send", []string{"publisher", "--send", "--tags", "0x200", "--emulate", "10", "--duration", "1s"}, s.as("tool"), noSend},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := run(t, tt.command[0], on(tt.command, tt.flags...)...)
			if tt.want == "" {
				c.finish(0)
				return
			}
			c.finish(1)
			said := s.steady(strings.Join(c.linesFrom(0), "\n"))
			if !regexp.MustCompile(tt.want).MatchString(said) {
				t.Errorf("got\n%s\nwant a line with %s", said, tt.want)
			}
		})
	}
	for name, want := range map[string]int{"all": 0, "half": 1, "none": 1, "plain": 1} {
		run(t, "verify "+name, "tagbus", "rec", "verify", s.path(name+".tbr")).finish(want)
	}
}
