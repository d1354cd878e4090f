// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit"
)

// threeHosts makes namespaces a, b and c, each on a wire to the bridge of a namespace net,
// and returns what they are called: net first.
func threeHosts(t *testing.T) (names [4]string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs ip of the Debian package iproute2")
	}
	for i := range names {
		names[i] = fmt.Sprintf("tagbus-%d-s%d", os.Getpid(), i)
		if out, err := exec.Command("ip", "netns", "add", names[i]).CombinedOutput(); err != nil {
			t.Skipf("needs the right to make network namespaces: %v: %s", err, out)
		}
		t.Cleanup(func() { ip(t, "netns del "+names[i]) })
		ip(t, "-n "+names[i]+" link set lo up")
	}
	ip(t, "-n "+names[0]+" link add bridge type bridge")
	ip(t, "-n "+names[0]+" link set bridge up")
	for i, host := range names[1:] {
		port := fmt.Sprintf("port%d", i+1)
		ip(t, "-n "+host+" link add wire type veth peer name "+port+" netns "+names[0])
		ip(t, fmt.Sprintf("-n %s address add 10.77.0.%d/24 dev wire", host, i+1))
		ip(t, "-n "+host+" link set wire up")
		ip(t, "-n "+names[0]+" link set "+port+" master bridge")
		ip(t, "-n "+names[0]+" link set "+port+" up")
	}
	return names
}

// capture keeps all frames of a namespace until stop, which returns them.
func capture(t *testing.T, namespace string) (stop func() []byte) {
	t.Helper()
	fd := packetSocket(t, namespace)
	var all bytes.Buffer
	var wg sync.WaitGroup
	done := make(chan struct{})
	wg.Go(func() {
		frame := make([]byte, 1<<16)
		for {
			n, _, err := unix.Recvfrom(fd, frame, 0)
			if n > 0 {
				all.Write(frame[:n])
			}
			select {
			case <-done:
				if err != nil {
					return
				}
			default:
			}
		}
	})
	return func() []byte {
		close(done)
		wg.Wait()
		if err := unix.Close(fd); err != nil {
			t.Error(err)
		}
		return all.Bytes()
	}
}

// packetSocket returns a socket that gets all frames of a namespace, and gives up waiting for
// one every tenth of a second.
func packetSocket(t *testing.T, namespace string) int {
	t.Helper()
	type made struct {
		fd  int
		err error
	}
	result := make(chan made)
	go func() {
		runtime.LockOSThread() // and ends with the goroutine, in whatever namespace it is
		there, err := os.Open("/run/netns/" + namespace)
		if err != nil {
			result <- made{-1, err}
			return
		}
		defer there.Close()
		if err := unix.Setns(int(there.Fd()), unix.CLONE_NEWNET); err != nil {
			result <- made{-1, err}
			return
		}
		all := int(uint16(unix.ETH_P_ALL)<<8 | uint16(unix.ETH_P_ALL)>>8)
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all)
		result <- made{fd, err}
	}()
	m := <-result
	if m.err != nil {
		t.Fatalf("socket of all frames: %v", m.err)
	}
	testkit.Must(t, unix.SetsockoptTimeval(m.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000}))
	testkit.Must(t, unix.SetsockoptInt(m.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20))
	return m.fd
}

// plaintext is in each message that the hosts exchange.
const plaintext = "beam-energy-is-6800-GeV"

// TestThreeIdentitiesOnThreeHosts: one may publish, one may have half of it, one nothing. A
// capture of all that is on the wires has no message in it, and has them over plain TCP.
func TestThreeIdentitiesOnThreeHosts(t *testing.T) {
	overTCP(t)
	notShort(t)
	names := threeHosts(t)
	s := misfitSite(t)
	s.write("policy.json", `{"rules":[{"who":"cn:daq","publish":"1-4"},{"who":"cn:dcs","subscribe":"1-2","describe":"*"}]}`)
	s.write("in", strings.Repeat(plaintext+"\n", 4000))
	on := func(host int, command string, args ...string) []string {
		return append([]string{"ip", "netns", "exec", names[host], command}, args...)
	}
	exchange := func(t *testing.T, bus string, flags func(name string) []string) (wire []byte, half *program) {
		stop := capture(t, names[0])
		p := run(t, "publisher", on(1, "publisher", append(flags("daq"), "--bus", s.path(bus), "--listen", "10.77.0.1", "--tags", "1-4",
			"--input", s.path("in"), "--record", "lines", "--loop", "--rate", "1000")...)...)
		p.await("publishes on")
		half = run(t, "half", on(2, "subscriber", append(flags("dcs"), "--bus", s.path(bus), "--tags", "1-4", "--count", "500", "--json", "--per-tag")...)...)
		status := map[string]int{"tls": 1, "tcp": 0}[bus] // with TLS there is a policy, and it denies half of the tags
		half.finish(status)
		if bus == "tls" {
			none := run(t, "none", on(3, "subscriber", append(flags("none"), "--bus", s.path(bus), "--tags", "1-4", "--json")...)...)
			none.await(`refused .*cn:none may not subscribe to anything here`)
			s.checkOn(t, on(2, "tagbus", append(flags("dcs"), "--bus", s.path(bus), "check", "--timeout", "1m", "--verbose")...), "the policy of --acl lets it subscribe to 0x0000000000000001-0x0000000000000002; ask for the state of ", "1 instance answers")
			s.checkOn(t, on(3, "tagbus", append(flags("none"), "--bus", s.path(bus), "check", "--timeout", "1m", "--verbose")...), "none of the 2 rules of --acl lets it do anything", "not-allowed", "cn:none may not ask for the state of anything here")
			s.checkOn(t, on(1, "tagbus", append(flags("daq"), "--bus", s.path(bus), "check", "--timeout", "1m", "--verbose")...), "the policy of --acl lets it publish 0x0000000000000001-0x0000000000000004")
			none.signal(syscall.SIGINT)
			none.finish(1)
			var sum struct{ Messages uint64 }
			if none.summary(&sum); sum.Messages != 0 {
				t.Errorf("got %d messages without any right, want none", sum.Messages)
			}
		}
		p.signal(syscall.SIGINT)
		p.finish(0)
		return stop(), half
	}
	wire, half := exchange(t, "tls", func(name string) []string { return s.as(name, "--acl", s.path("policy.json")) })
	var sum struct {
		Messages, Lost uint64
		Tags           []struct{ Tag string }
	}
	half.summary(&sum)
	if sum.Messages != 500 || sum.Lost != 0 {
		t.Errorf("got %d messages and %d lost, want 500 and 0", sum.Messages, sum.Lost)
	}
	for _, tag := range sum.Tags {
		if tag.Tag != "0x0000000000000001" && tag.Tag != "0x0000000000000002" {
			t.Errorf("got messages of tag %s, want those of 1 and 2 alone", tag.Tag)
		}
	}
	if len(wire) < 500*len(plaintext) {
		t.Errorf("got a capture of %d bytes, want that of 500 messages", len(wire))
	}
	if bytes.Contains(wire, []byte(plaintext)) {
		t.Error("got a message in the capture over TLS, want none")
	}
	wire, _ = exchange(t, "tcp", func(string) []string { return []string{"--backend", "tcp"} })
	if !bytes.Contains(wire, []byte(plaintext)) {
		t.Error("got no message in the capture over plain TCP: it would find none over TLS either")
	}
}

// checkOn runs tagbus check and looks for texts in what it says.
func (s *site) checkOn(t *testing.T, command []string, want ...string) {
	t.Helper()
	out, _ := exec.Command(command[0], command[1:]...).Output() // the status is that of other findings
	for _, text := range want {
		if !bytes.Contains(out, []byte(text)) {
			t.Errorf("%v: got %s, want %q in it", command, out, text)
		}
	}
}

// TestTheCAIsReplacedUnderLoad without a lost message. Connections end that have shown a
// certificate of the CA that was removed, once, and come back with the new one; all others stay.
func TestTheCAIsReplacedUnderLoad(t *testing.T) {
	overTCP(t)
	notShort(t)
	s := newSite(t)
	for _, name := range []string{"daq", "dcs"} {
		s.issue("ca", name)
	}
	s.cert("init", "--dir", s.path("next"))
	both := s.read("ca/ca.pem") + s.read("next/ca.pem")
	p := run(t, "publisher", append([]string{"publisher", "--bus", s.path("bus"), "--listen", "127.0.0.1:0", "--tags", "1-4", "--emulate", "100", "--rate", "10k", "--cache", "5000", "--cache-bytes", "64MiB", "--json"}, s.as("daq")...)...)
	listening(t, p)
	c := run(t, "subscriber", append([]string{"subscriber", "--bus", s.path("bus"), "--tags", "1-4", "--verify", "--json", "--metrics", "127.0.0.1:0"}, s.as("dcs")...)...)
	c.await("subscriber: subscribed .* tags ")
	step := func() {
		t.Helper()
		for _, one := range []*program{p, c} {
			said := len(one.linesFrom(0))
			one.signal(syscall.SIGHUP)
			one.awaitFrom(said, "SIGHUP: certificates and policy were read again")
		}
		const more = 5000 // messages under the new files
		for from := c.metric("tagbus_subscriber_messages_total"); c.metric("tagbus_subscriber_messages_total") < from+more; {
			idle(20 * time.Millisecond)
		}
	}
	s.replace("ca/ca.pem", both)
	step() // both CAs
	for _, name := range []string{"daq", "dcs"} {
		s.issue("next", name, "--force")
	}
	step() // new certificates
	late := run(t, "late", append([]string{"subscriber", "--bus", s.path("bus"), "--tags", "1-4", "--verify", "--json"}, s.as("dcs")...)...)
	late.await("subscriber: subscribed .* tags ")
	for _, one := range []*program{p, c, late} {
		if line := one.find(regexpLost); line != "" {
			t.Errorf("%s: got %q before the old CA was removed, want that each connection stays", one.name, line)
		}
	}
	s.replace("ca/ca.pem", s.read("next/ca.pem"))
	step() // the new CA alone
	p.signal(syscall.SIGINT)
	p.finish(0)
	for _, one := range []*program{c, late} {
		one.signal(syscall.SIGINT)
		one.finish(0)
	}
	var sent, got struct{ Messages, Lost, Missing, Corrupt uint64 }
	p.summary(&sent)
	c.summary(&got)
	if got.Lost+got.Missing+got.Corrupt+sent.Lost != 0 || got.Messages < 15000 {
		t.Errorf("sent %+v and got %+v, want 15000 or more and none lost", sent, got)
	}
	if line := c.find(regexp.MustCompile(`subscriber: lost .*no chain to a CA that is trusted here`)); line == "" {
		t.Error("got no end of the connection with a certificate of the old CA, want one")
	}
	if line := late.find(regexpLost); line != "" {
		t.Errorf("late: got %q, want that a connection with new certificates stays", line)
	}
}

// regexpLost is a connection that was lost, or a message.
var regexpLost = regexp.MustCompile(`WARN \S+ (lost|gap|refused)`)
