// SPDX-License-Identifier: Apache-2.0

// Command subscriber-etcd is subscriber with directories on etcd: --bus etcd://HOST,HOST/NAME.
package main

import (
	"os"

	"tagbus/cmd/programs"
	_ "tagbus/directory/etcd"
)

func main() { os.Exit(programs.Subscriber()) }
