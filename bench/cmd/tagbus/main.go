// SPDX-License-Identifier: Apache-2.0

// Command tagbus is the benchmark program of this project's bus. The runner
// starts it as publisher and as subscriber; both find each other through a
// folder.
package main

import (
	"tagbus/bench/internal/load"
)

func main() {
	o := load.Parse()
	switch {
	case o.Work == load.WorkPingPong:
		pingPong(o)
	case o.Work == load.WorkReplay && o.Role == load.RolePub:
		replay(o)
	case o.Role == load.RolePub:
		publish(o)
	default:
		subscribe(o)
	}
}
