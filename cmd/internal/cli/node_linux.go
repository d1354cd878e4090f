// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"tagbus/bus/metrics"
	"tagbus/cmd/internal/options"
	"tagbus/node"
)

var errUnknownBackend = node.ErrUnknownBackend

// Node opens the node that the flags describe, with what guards it, and has a server of metrics tell of both.
//
//   - console: gets the warnings of its loops and transports.
//   - Result: closed closes all of that.
func (c *Common) Node(console *Console, s *MetricsServer) (n *node.Node, closed func() error, err error) {
	g, err := c.Guard(console)
	if err != nil {
		return nil, nil, err
	}
	cfg := node.Config{Bus: c.Bus, Backend: c.Transport(c.Backend), Access: g.Access(), Loops: c.Loops, Logger: console.Logger()}
	cfg.Folder.MaxFiles, cfg.SHM.Folder = c.MaxEntries, c.SHMFolder
	if c.Expiry != nil {
		cfg.Expiry = *c.Expiry
	}
	if n, err = node.Open(cfg); err != nil {
		g.Close()
		return nil, nil, options.NameBus(err)
	}
	closed = func() error {
		err := n.Close()
		g.Close() // after what asks it
		return err
	}
	s.Watch(n.Alive)
	if err := s.Register(append(g.Metrics(), metrics.OfDirectory(n.Directory()))...); err != nil {
		return nil, nil, errors.Join(err, closed())
	}
	return n, closed, nil
}

// fileName returns DEVICE:INODE of a file, as systemd names it; "" if that is not known.
func fileName(info fs.FileInfo) string {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
}
