// SPDX-License-Identifier: Apache-2.0

// Command faultload is the load of tagbus/test/faults with directories on etcd.
package main

import (
	"os"

	_ "tagbus/directory/etcd"
	"tagbus/test/faults/load"
)

func main() { os.Exit(load.Main(os.Args[1:])) }
