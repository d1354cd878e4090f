// SPDX-License-Identifier: Apache-2.0

// Command tagbus-directory is a member of a directory on etcd, for sites that have no
// etcd, and what administers one. See tagbus-directory --help.
package main

import (
	"os"
	"runtime"

	"tagbus/directory/etcd/cmd/internal/members"
	"tagbus/internal/stuck"
)

// The main goroutine stays on the first thread of the process: see stuck.Main.
func init() { runtime.LockOSThread() }

func main() {
	os.Exit(stuck.Main(func() int {
		return members.Main(os.Args[1:], members.Streams{Out: os.Stdout, Err: os.Stderr})
	}))
}
