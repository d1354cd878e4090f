// SPDX-License-Identifier: Apache-2.0

//go:build linux

package recorder

import (
	"errors"
	"os"
	"sync/atomic"

	"tagbus/cmd/internal/cli"
	"tagbus/internal/stuck"
)

// named is a file whose errors name it as it is called in the end.
type named struct {
	*os.File
	name   string
	closed atomic.Bool
}

// unlinked returns an error if the file has been removed.
func (n *named) unlinked() error {
	if n == nil || n.closed.Load() {
		return nil
	}
	return cli.Unlinked(n.name, n.File)
}

// Write implements file.
func (n *named) Write(p []byte) (int, error) {
	written, err := n.File.Write(p)
	return written, cli.FileError(n.name, err)
}

// Sync implements file.
func (n *named) Sync() error { return cli.FileError(n.name, n.File.Sync()) }

// Close implements file. A file that was removed is not whole, though all of it was written.
func (n *named) Close() error {
	err := n.unlinked()
	n.closed.Store(true)
	return errors.Join(err, cli.FileError(n.name, n.File.Close()))
}

// pipe is what has no disk behind it.
type pipe struct{ *named }

// Sync implements file.
func (pipe) Sync() error { return nil }

// watched is a file of which it is said when its file system does not answer. The recorder ends
// without it.
type watched struct {
	file
	name string
}

// Write implements file.
func (w watched) Write(p []byte) (int, error) {
	defer stuck.Aside(w.name)()
	return w.file.Write(p)
}

// Sync implements file.
func (w watched) Sync() error {
	defer stuck.Aside(w.name)()
	return w.file.Sync()
}

// Close implements file.
func (w watched) Close() error {
	defer stuck.Aside(w.name)()
	return w.file.Close()
}

// pieceBytes is the most that a file is given at once, so that a slow one can be told from
// one that takes nothing.
const pieceBytes = 128 << 10
