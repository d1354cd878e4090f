package scripts_test

import (
	"os"
	"slices"
	"strings"
)

// Environment variables of the tests.
const (
	backendVariable = "NETIO_BACKEND"   // what all processes talk through, for example rdma:tcp
	addressVariable = "NETIO_RDMA_ADDR" // where they listen then: a device has its own address
)

var backend = os.Getenv(backendVariable)

// overTCP tells whether the tests run over netio/tcp.
func overTCP() bool { return backend == "" || backend == "tcp" }

// withBackend puts the flags for backend in front of the arguments of a command,
// where others go before them. listens: it is a publisher.
func withBackend(args []string, listens bool) []string {
	names := func(flag string) bool {
		return slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, flag) })
	}
	var front []string
	if backend != "" && !names("--backend") {
		front = append(front, "--backend="+backend)
	}
	if host := os.Getenv(addressVariable); host != "" && !overTCP() && listens && !names("--listen") {
		front = append(front, "--listen="+host)
	}
	return append(front, args...)
}
