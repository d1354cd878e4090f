// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package signals

import (
	"os"
	"syscall"
)

// endings are the signals that end a program in order.
var endings = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// names are those of the endings.
var names = map[string]os.Signal{
	"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGHUP": syscall.SIGHUP, "SIGQUIT": syscall.SIGQUIT,
}

// meanings say what signals mean that more than ask for the end.
var meanings = map[os.Signal]string{syscall.SIGQUIT: "the stacks were asked for, and are on standard error"}

// terminal looks for the controlling terminal of the process, which only Linux is asked for.
func terminal() (there, gone bool) { return false, false }
