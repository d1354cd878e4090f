// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io/fs"
	"log/slog"
	"syscall"

	"tagbus/node"
)

var errUnknownBackend = node.ErrUnknownBackend

// Node opens the node that the flags describe.
//
//   - g: what Security.Open has returned.
//   - log: gets the warnings of its loops and transports; it must not block.
func (c *Common) Node(g *Guard, log *slog.Logger) (*node.Node, error) {
	cfg := node.Config{Bus: c.Bus, Backend: c.Transport(c.Backend), Access: g.Access(), Loops: c.Loops, Logger: log}
	cfg.Folder.MaxFiles, cfg.SHM.Folder = c.MaxEntries, c.SHMFolder
	if c.Expiry != nil {
		cfg.Expiry = *c.Expiry
	}
	n, err := node.Open(cfg)
	return n, NameBus(err)
}

// fileName returns DEVICE:INODE of a file, as systemd names it; "" if that is not known.
func fileName(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}
