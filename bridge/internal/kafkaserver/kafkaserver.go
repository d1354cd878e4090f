// SPDX-License-Identifier: Apache-2.0

// Package kafkaserver runs brokers of Kafka for tests: the one in memory of franz-go, in the process of the test or in
// one of its own that can be killed and started again; or a real one that the environment names.
package kafkaserver

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"tagbus/bridge/internal/killable"
)

const (
	// real names brokers with which tests run that need no settings of their own and kill nothing.
	real = "TAGBUS_KAFKA"

	// child makes a broker of a test program: the address and the folder of its data.
	child = "TAGBUS_TEST_KAFKA"

	ready = "broker is ready"
)

// Main is the broker, in a process that Start has begun; elsewhere it returns at once. A TestMain calls it first.
func Main() {
	address, dir, ok := strings.Cut(os.Getenv(child), " ")
	if !ok {
		return
	}
	if err := recovered(address, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, ready)
	select {} // until it is killed
}

// cluster returns a broker at an address.
func cluster(address string, opts ...kfake.Opt) (*kfake.Cluster, error) {
	listen := func(network, _ string) (net.Listener, error) { return net.Listen(network, address) }
	return kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1), kfake.ListenFn(listen)}, opts...)...)
}

// Brokers returns where the real brokers are that the environment names, or a broker in memory that the test ends.
func Brokers(tb testing.TB) string {
	tb.Helper()
	if brokers := os.Getenv(real); brokers != "" {
		return brokers
	}
	return InMemory(tb)
}

// InMemory returns where a broker in memory is, which the test ends.
func InMemory(tb testing.TB, opts ...kfake.Opt) string {
	tb.Helper()
	c, err := cluster("127.0.0.1:0", opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return strings.Join(c.ListenAddrs(), ",")
}

// Server is a broker in a process of its own, with its data on the disk.
type Server struct {
	killable.Process

	dir     string
	Brokers string
}

// Start starts a broker, which the test ends.
func Start(tb testing.TB) *Server {
	tb.Helper()
	r := rand.Uint32() // a loopback address that nothing else uses: the port is free when the broker is started again
	s := &Server{dir: tb.TempDir(), Brokers: fmt.Sprintf("127.%d.%d.%d:9092", 1+r%250, byte(r>>8), 1+(r>>16)%250)}
	s.TB, s.Hint = tb, "its TestMain has to call kafkaserver.Main"
	tb.Cleanup(s.Kill)
	s.Restart()
	return s
}

// Restart starts the broker again, with what it has on its disk, and waits until it takes clients.
func (s *Server) Restart() {
	s.TB.Helper()
	s.Kill()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), child+"="+s.Brokers+" "+s.dir)
	s.Begin(command, func(line string) bool { return line == ready })
	s.Await()
}
