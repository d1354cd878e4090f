// SPDX-License-Identifier: Apache-2.0

// Command tagbus-directory is a member of a directory on etcd, for sites that have no
// etcd, and what administers one. See tagbus-directory --help.
package main

import (
	"os"

	"tagbus/directory/etcd/cmd/internal/members"
)

func main() {
	os.Exit(members.Main(os.Args[1:], members.Streams{Out: os.Stdout, Err: os.Stderr}))
}
