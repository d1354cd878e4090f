// SPDX-License-Identifier: Apache-2.0

// Package moving_test moves a bus from a folder to etcd with tagbus mirror, while messages
// flow between real processes.
package moving_test

import (
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"tagbus/cmd/programs"
	_ "tagbus/directory/etcd"
	"tagbus/directory/etcd/cmd/internal/members"
	"tagbus/internal/stuck"
)

// mode is the variable that makes a program of the test.
const mode = "TAGBUS_TEST_PROGRAM"

func TestMain(m *testing.M) {
	switch os.Getenv(mode) {
	case "publisher":
		os.Exit(programs.Publisher())
	case "subscriber":
		os.Exit(programs.Subscriber())
	case "tagbus":
		os.Exit(programs.Tagbus())
	case "member":
		os.Exit(stuck.Main(func() int {
			return members.Main(os.Args[1:], members.Streams{Out: os.Stdout, Err: os.Stderr})
		}))
	}
	os.Exit(m.Run())
}

// member runs the only member of a directory, on an address of its own.
func member(t *testing.T, folder, address string) *program {
	t.Helper()
	m := launch(t, "member", "member", "--data", folder, "--listen", address)
	m.await("the directory works")
	return m
}

// freeAddress returns an address of this host on which nothing listens, nor on the next port.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		port := 10_000 + 2*rand.IntN(900) // the system gives these to none that asks for any
		first, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			continue
		}
		second, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port+1))
		_ = first.Close()
		if err == nil {
			_ = second.Close()
			return first.Addr().String()
		}
	}
	t.Fatal("got no two ports in a row, want some")
	return ""
}

// TestABusMovesFromAFolderToEtcd: a subscriber in each of the two gets all of a publisher in
// the folder, also while the servers are killed, and then all of one on etcd, also after
// the mirror has ended. Both were connected to all the time.
func TestABusMovesFromAFolderToEtcd(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it runs servers and six other processes")
	}
	tmp := t.TempDir()
	folder, data, address := filepath.Join(tmp, "bus"), filepath.Join(tmp, "data"), freeAddress(t)
	servers := "etcd://" + address + "/daq"
	m := member(t, data, address)

	const tags, half = "0x100-0x10f", "40000"
	publish := []string{"--tags", tags, "--emulate", "40-400", "--rate", "10k", "--count", half, "--wait-subscribers", "2", "--name"}
	subscribe := []string{"--tags", tags, "--verify", "--count", "80000", "--report", "1s"}
	mirror := launch(t, "mirror", "tagbus", "mirror", "--both", folder, servers)
	mirror.await("copying the entries of")
	stays := launch(t, "stays", "subscriber", append(subscribe, "--bus", folder)...)
	moved := launch(t, "moved", "subscriber", append(subscribe, "--bus", servers)...)
	first := launch(t, "first", "publisher", append(publish, "first", "--bus", folder)...)
	moved.await("in 1s: ") // messages flow

	m.kill()
	m = member(t, data, address)
	first.done("40,000 messages.* 0 lost; ended by count")

	second := launch(t, "second", "publisher", append(publish, "second", "--bus", servers)...)
	stays.await("subscribed second@")
	mirror.signal(syscall.SIGTERM)
	mirror.done("bus to etcd://.*: 1 entry copied, .* 1 withdrawn; etcd://.* to .*bus: 1 entry copied, .* 1 withdrawn; ended by signal")
	second.done("40,000 messages.* 0 lost; ended by count")
	for _, s := range []*program{stays, moved} {
		s.done("80,000 messages.* 0 lost, 0 corrupt, 0 duplicates; ended by count")
	}
	m.signal(syscall.SIGTERM)
	m.done("^.*tagbus-directory")
}
