// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package cli

import (
	"errors"
	"io/fs"
)

// errUnknownBackend is what no error is: there are no nodes here.
var errUnknownBackend = errors.New("cli: no backend is known on this system")

// fabricsFlag is a flag that does nothing here.
type fabricsFlag bool

// fileName knows no name: there is no systemd here.
func fileName(fs.FileInfo) string { return "" }
