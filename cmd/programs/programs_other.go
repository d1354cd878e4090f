// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package programs

import (
	"fmt"
	"os"
	"runtime"

	"tagbus/cmd/internal/cli"
)

// Publisher says that the command publisher needs Linux.
func Publisher() int { return needsLinux("publisher") }

// Subscriber says that the command subscriber needs Linux.
func Subscriber() int { return needsLinux("subscriber") }

func needsLinux(program string) int {
	fmt.Fprintf(os.Stderr, "%s: needs Linux, and this is %s: run it on a host of the bus; tagbus rec reads recordings here\n", program, runtime.GOOS)
	return cli.ExitUsage
}
