// SPDX-License-Identifier: Apache-2.0

package signals

import (
	"errors"
	"os"
	"syscall"
)

// endings are the signals that end a program in order. Go ignores SIGXCPU and SIGPWR by
// itself, and the process would be killed later.
var endings = []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGXCPU, syscall.SIGPWR}

// names are those of the endings.
var names = map[string]os.Signal{
	"SIGINT": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGHUP": syscall.SIGHUP, "SIGQUIT": syscall.SIGQUIT,
	"SIGXCPU": syscall.SIGXCPU, "SIGPWR": syscall.SIGPWR,
}

// meanings say what signals mean that more than ask for the end.
var meanings = map[os.Signal]string{
	syscall.SIGQUIT: "the stacks were asked for, and are on standard error",
	syscall.SIGXCPU: "the limit of processor time (ulimit -t) is reached",
	syscall.SIGPWR:  "the power fails",
}

// terminal looks for the controlling terminal of the process.
//
//   - there: it has one, whatever its standard streams are.
//   - gone: it has none, or one that was hung up.
func terminal() (there, gone bool) {
	fd, err := syscall.Open("/dev/tty", syscall.O_RDONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err == nil {
		_ = syscall.Close(fd) // nothing was written
	}
	return err == nil, errors.Is(err, syscall.ENXIO) || errors.Is(err, syscall.EIO)
}
