// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"os"
	"slices"
	"strings"
)

// addressVariable names the environment variable with the address on which a
// device can be reached. Default: loopback.
const addressVariable = "NETIO_RDMA_ADDR"

// testHost is where publishers and receivers listen.
func testHost() string {
	if host := os.Getenv(addressVariable); host != "" && strings.HasPrefix(testBackend(), "rdma") {
		return host
	}
	return "127.0.0.1"
}

// withBackend puts the flags for the backend of the tests in front of the
// arguments of a command, unless they say something else. listens: it does.
func withBackend(args []string, listens bool) []string {
	names := func(flag string) bool {
		return slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, flag) })
	}
	var front []string
	if !names("--backend") {
		front = append(front, "--backend="+testBackend())
	}
	if listens && !names("--listen") {
		front = append(front, "--listen="+testHost())
	}
	return append(front, args...)
}
