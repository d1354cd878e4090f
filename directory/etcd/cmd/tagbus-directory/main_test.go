// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"tagbus/directory/etcd/cmd/internal/members"
)

// mode is the variable that makes a program of the tests: a member or a client.
const mode = "TAGBUS_TEST_PROGRAM"

func TestMain(m *testing.M) {
	switch os.Getenv(mode) {
	case "member":
		os.Exit(members.Main(os.Args[1:], members.Streams{Out: os.Stdout, Err: os.Stderr}))
	case "client":
		os.Exit(runClient(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}
