// SPDX-License-Identifier: Apache-2.0

// Command libtagbus is libtagbus-core.so, with -buildmode=c-shared: the bus for libtagbus.so, which
// loads it. It is no program.
package main

import _ "tagbus/cmd/libtagbus/core"

func main() {}
