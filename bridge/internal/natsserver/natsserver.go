// SPDX-License-Identifier: Apache-2.0

// Package natsserver runs real servers of NATS for tests, each as a process of its own that can be killed and
// started again.
package natsserver

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"tagbus/bridge/internal/killable"
)

// Server is a server.
type Server struct {
	killable.Process

	file string // its configuration
	URL  string // with which clients dial it
}

// program returns the path of the server's program, which bench/go.mod pins.
var program = sync.OnceValues(func() (string, error) {
	_, here, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(here) { // with -trimpath: tests run in the folder of their package
		here, _ = os.Getwd()
	}
	for dir := here; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		mod := filepath.Join(dir, "bench", "go.mod")
		if text, err := os.ReadFile(mod); err != nil || !strings.Contains(string(text), "nats-server") {
			continue
		}
		return build(filepath.Dir(mod))
	}
	return "", fmt.Errorf("no bench/go.mod with nats-server above %s", here)
})

// build builds the program of the module bench, unless it is there. The tests of several packages begin at the
// same time, and one of them builds for all. Without cgo it is the same program under the race detector.
func build(module string) (path string, err error) {
	lock, err := os.Open(module) // the go command locks the file
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }() // which unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	path = filepath.Join(module, "..", "bin", "nats-server")
	// go tool would compile the standard library once more: it takes no -trimpath from GOFLAGS.
	command := exec.Command("go", "build", "-o", path, "github.com/nats-io/nats-server/v2")
	command.Dir = module
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	command.Stderr = os.Stderr
	return path, command.Run()
}

// Program returns the path of the program, which is built if need be.
func Program(tb testing.TB) string {
	tb.Helper()
	path, err := program()
	if err != nil {
		tb.Fatalf("build nats-server: %v", err)
	}
	return path
}

// Start starts a server with JetStream, which the test ends.
//
//   - settings: lines of its configuration, beside the address and the folder of JetStream.
func Start(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	return Cluster(tb, 1, settings...)[0]
}

// Cluster starts the members of a cluster with JetStream, which the test ends.
func Cluster(tb testing.TB, members int, settings ...string) []*Server {
	tb.Helper()
	hosts := hosts(members)
	var all []*Server
	var others []string
	for _, host := range hosts {
		others = append(others, fmt.Sprintf("nats://%s:%d", host, routePort))
	}
	for i := range members {
		dir := tb.TempDir()
		lines := append([]string{
			fmt.Sprintf("server_name: member%d", i), fmt.Sprintf("listen: %s:%d", hosts[i], clientPort),
			fmt.Sprintf("jetstream { store_dir: %q, max_file_store: 1G }", dir),
		}, settings...)
		if members > 1 {
			lines = append(lines, fmt.Sprintf("cluster { name: test, listen: %s:%d, routes: [%s] }", hosts[i], routePort, strings.Join(others, ", ")))
		}
		s := &Server{file: filepath.Join(dir, "server.conf"), URL: fmt.Sprintf("nats://%s:%d", hosts[i], clientPort)}
		s.TB, s.Hint = tb, fmt.Sprintf("run %s -c %s", Program(tb), s.file)
		if err := os.WriteFile(s.file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(s.Kill)
		s.begin()
		all = append(all, s)
	}
	for _, s := range all {
		s.Await()
	}
	return all
}

// Ports of each server, on a host of its own.
const (
	clientPort = 4222
	routePort  = 6222
)

// hosts returns loopback addresses that nothing else uses, as there are 16 million. So a server that is started again
// finds its ports free.
func hosts(n int) (all []string) {
	for range n {
		r := rand.Uint32()
		all = append(all, fmt.Sprintf("127.%d.%d.%d", 1+r%250, byte(r>>8), 1+(r>>16)%250))
	}
	return all
}

// begin starts the process.
func (s *Server) begin() {
	s.TB.Helper()
	s.Begin(exec.Command(Program(s.TB), "-c", s.file), func(line string) bool { return strings.Contains(line, "Server is ready") })
}

// Restart starts the server again, with what it has on its disk, and waits until it takes clients.
func (s *Server) Restart() {
	s.TB.Helper()
	s.Kill()
	s.begin()
	s.Await()
}
