// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package node_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tagbus/netio/rdma"
)

// twoDevices names, to a process of a test, the two devices that it has for itself, of which it removes the first one.
const twoDevices = "NODE_TEST_DEVICES"

// inHostOfTwo runs the test in a process that finds two devices, and reports whether this is that process.
func inHostOfTwo(t *testing.T) bool {
	t.Helper()
	if os.Getenv(twoDevices) != "" {
		return true
	}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.timeout=8m", "-test.v", fmt.Sprintf("-test.short=%t", testing.Short()))
	names := "d1,d2"
	if backend == "rdma:verbs" {
		if os.Getenv("NETIO_RDMA_SOFT") != "yes" {
			t.Skip("no RDMA device that may be removed; where there is Soft-RoCE NETIO_RDMA_SOFT=yes runs this test")
		}
		names = softDevices(t)
	} else {
		if os.Geteuid() != 0 {
			t.Skip("needs root, to make network namespaces")
		}
		child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	}
	child.Env = append(os.Environ(), twoDevices+"="+names)
	out, err := child.CombinedOutput()
	t.Logf("the test in a process of its own:\n%s", out)
	if err != nil {
		t.Errorf("the test in a process of its own: got %v, want it to pass", err)
	}
	return false
}

var softPairs atomic.Int32

// softDevices makes two devices of Soft-RoCE, each with a network of its own. The name of one begins with that of
// the other: libfabric took one for the other.
func softDevices(t *testing.T) string {
	t.Helper()
	pair := int(softPairs.Add(1)) // they stay, see softDevice
	names := []string{fmt.Sprintf("two%d", pair), fmt.Sprintf("two%d0", pair)}
	for i, name := range names {
		link := "n" + name
		command(t, "ip", "link", "add", link, "mtu", "9000", "type", "dummy")
		command(t, "ip", "address", "add", fmt.Sprintf("10.97.%d.1/24", 2*pair+i), "dev", link)
		command(t, "ip", "link", "set", link, "up")
		command(t, "rdma", "link", "add", name, "type", "rxe", "netdev", link)
	}
	return strings.Join(names, ",")
}

// removeDevice takes a device away. That of Soft-RoCE is gone only when no process knows it any more.
func removeDevice(t *testing.T, name string) {
	t.Helper()
	if backend != "rdma:verbs" {
		command(t, "ip", "link", "del", name)
		return
	}
	if err := exec.Command("rdma", "link", "delete", name).Start(); err != nil {
		t.Fatal(err)
	}
}

// restoreDevice makes it again, and reports whether it could: the kernel may wait with the removal until this program ends.
func restoreDevice(t *testing.T, name string) bool {
	t.Helper()
	if backend != "rdma:verbs" {
		makeInterface(t, name, 1)
		return true
	}
	for limit := time.Now().Add(20 * time.Second); ; <-time.After(100 * time.Millisecond) {
		out, err := exec.Command("rdma", "link", "add", name, "type", "rxe", "netdev", "n"+name).CombinedOutput()
		if err == nil || time.Now().After(limit) {
			t.Logf("make the device again: %v %s", err, out)
			return err == nil
		}
	}
}

// useRestored opens subscribers until one uses the device that is back.
func useRestored(t *testing.T, device, want string, start func() *reading) {
	t.Helper()
	eventually(t, "the device is back", func() bool {
		survey, err := rdma.Fabrics()
		return err == nil && slices.ContainsFunc(survey.Fabrics, func(f rdma.Fabric) bool { return f.Domain == device })
	})
	restored := time.Now()
	for n := 1; ; n++ {
		r := start()
		eventually(t, "the transport of a subscriber", func() bool { return r.by() != "" })
		if r.by() == want {
			t.Logf("subscriber %d since the device is back uses it, after %v", n, time.Since(restored).Round(time.Millisecond))
			return
		}
		if err := r.s.Close(); err != nil {
			t.Error(err)
		}
		if time.Since(restored) > time.Minute {
			t.Fatalf("no subscriber of %d uses the device that is back", n)
		}
	}
}

// makeInterface makes a network interface with an address.
func makeInterface(t *testing.T, name string, number int) {
	t.Helper()
	command(t, "ip", "link", "add", name, "type", "veth", "peer", "name", name+"p")
	command(t, "ip", "address", "add", fmt.Sprintf("10.97.%d.1/24", number), "dev", name)
	command(t, "ip", "link", "set", name, "up")
	command(t, "ip", "link", "set", name+"p", "up")
}
