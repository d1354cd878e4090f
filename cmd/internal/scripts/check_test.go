// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"os/exec"
	"strings"
	"testing"
)

// nft runs nft on a host.
func nft(t *testing.T, host, rule string) {
	t.Helper()
	if _, err := exec.LookPath("nft"); err != nil {
		t.Skip("needs nft of the Debian package nftables")
	}
	args := append([]string{"netns", "exec", host, "nft"}, strings.Fields(rule)...)
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("nft %s: %v: %s", rule, err, out)
	}
}

// checks runs tagbus check on a host, compares its status, and returns what it prints.
func checks(t *testing.T, host, bus string, status int) string {
	t.Helper()
	p := run(t, "check", "ip", "netns", "exec", host, "tagbus", "check", "--backend", "tcp", "--bus", bus, "--timeout", "1s", "--verbose")
	p.finish(status)
	return p.out.String()
}

// wantLine fails unless text has a line that begins so.
func wantLine(t *testing.T, text, begin string) {
	t.Helper()
	if !strings.Contains("\n"+text, "\n"+begin) {
		t.Errorf("got\n%swant a line that begins with %q", text, begin)
	}
}

// A network that carries small packets, and drops large ones without a word.
func TestACheckFindsANetworkThatDropsLargePackets(t *testing.T) {
	notShort(t)
	listens, dials := hosts(t)
	bus := t.TempDir()
	p := run(t, "publisher", "ip", "netns", "exec", listens, "publisher", "--backend", "tcp", "--bus", bus, "--tags", "5", "--name", "felix-1",
		"--listen", listener, "--emulate", "100", "--rate", "10")
	p.await("publishes on")
	wantLine(t, checks(t, dials, bus, 0), "  ok: "+bus+": messages of 16 KiB reach 1 instance of other hosts\n")
	nft(t, listens, "add table ip small")
	nft(t, listens, "add chain ip small in { type filter hook input priority 0 ; }")
	nft(t, listens, "add rule ip small in meta length > 1000 ip frag-off & 0x4000 != 0 drop")
	out := checks(t, dials, bus, 2)
	wantLine(t, out, "  error: mtu: felix-1 on ")
	wantLine(t, out, "CRITICAL - 1 error (mtu), ")
}

// A publisher of another host that announces loopback: from a host that shares its network
// it can be reached, and from others not.
func TestACheckFindsALoopbackAddressOfAnotherHost(t *testing.T) {
	notShort(t)
	listens, dials := hosts(t)
	bus := t.TempDir()
	p := run(t, "publisher", "ip", "netns", "exec", listens, "unshare", "--uts", "sh", "-c", `echo elsewhere >/proc/sys/kernel/hostname && exec "$@"`, "sh",
		"publisher", "--backend", "tcp", "--bus", bus, "--tags", "5", "--name", "felix-1", "--emulate", "100", "--rate", "10")
	p.await("publishes on")
	wantLine(t, checks(t, dials, bus, 2), "  error: loopback-address: felix-1 on elsewhere: it is on host elsewhere and announces only 127.0.0.1:")
	wantLine(t, checks(t, listens, bus, 1), "  warning: loopback-address: felix-1 on elsewhere: it is on host elsewhere and announces only 127.0.0.1:")
}
