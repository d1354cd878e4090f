// SPDX-License-Identifier: Apache-2.0

//go:build linux

package moving_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tagbus/internal/testkit/away"
)

// TestMembersWhoseFilesAreAway say so, and so do programs on etcd; a signal ends them all the same.
func TestMembersWhoseFilesAreAway(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: each command waits for some seconds")
	}
	m, local := away.New(t), t.TempDir()
	for _, name := range []string{"x", "config.toml"} {
		if err := os.WriteFile(filepath.Join(m.Path(), name), []byte("name = \"x\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	address := freeAddress(t)
	member(t, t.TempDir(), address)
	m.Goes()
	for _, test := range []struct{ program, args, waits string }{
		{"member", "--data AWAY/data", "/data (--data)"},
		{"member", "--config AWAY/config.toml", "/config.toml (--config)"},
		{"member", "--data LOCAL/tls --listen 127.0.0.1 --cert AWAY/x --key AWAY/y --ca AWAY/z", "/x (--cert)"},
		{"member", "--data LOCAL/acl --listen 127.0.0.1 --acl AWAY/x", "/x (--acl)"},
		{"member", "status --data AWAY/data", "/clients.sock (--data)"},
		{"member", "status --at AT --cert AWAY/x --key AWAY/y --ca AWAY/z", "/x (--cert)"},
		{"member", "snapshot --at AT AWAY/snapshot", "/snapshot"},
		{"publisher", "--bus etcd://AT/x?user=x&password-file=AWAY/x --tags 1 --emulate 16", "/x (password-file of --bus)"},
		{"tagbus", "--bus etcds://AT/x?ca=AWAY/x --timeout 30s ls", "/x (ca of --bus)"},
	} {
		t.Run(test.program+" "+test.args, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(strings.NewReplacer("AWAY", m.Path(), "LOCAL", local, "AT", address).Replace(test.args))
			p := launch(t, test.program, test.program, args...)
			p.await(": its file system does not answer, since ")
			p.signal(syscall.SIGTERM)
			select {
			case <-p.ended:
			case <-time.After(patience):
				t.Fatalf("no end in %v", patience)
			}
			if got := p.cmd.ProcessState.ExitCode(); got != 1 || !strings.Contains(strings.Join(p.lines, "\n"), test.waits+": its file system") {
				t.Errorf("got status %d, want 1 and %s named", got, test.waits)
			}
		})
	}
}
