// SPDX-License-Identifier: Apache-2.0

// Command libtagbus-etcd is libtagbus-core-etcd.so, with -buildmode=c-shared: the core of the C library
// with directories on etcd. It is no program.
package main

import (
	_ "tagbus/cmd/libtagbus/core"
	_ "tagbus/directory/etcd"
)

func main() {}
