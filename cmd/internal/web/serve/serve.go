// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package serve is the command tagbus web: the page for a whole bus.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/httpserver"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/tool"
	"tagbus/cmd/internal/web"
	"tagbus/internal/sanitize"
)

// Command is tagbus web.
type Command struct {
	Listen cli.Address `default:"127.0.0.1:8080" placeholder:"ADDR:PORT" help:"Address of the page. Port 0 lets the system pick, and standard error tells. Whoever reaches it sees the bus, so name no address of a network unless others are to. Default ${default}."`
}

const (
	// patience is how long an instance may take to answer a look, at most: the page shows
	// one that takes longer as unreachable, and goes on.
	patience = 900 * time.Millisecond

	// requestPatience bounds a request and the answer to it, so that strangers cannot hold
	// connections for ever. Streams have bounds of their own.
	requestPatience = 30 * time.Second

	// idlePatience is how long a connection may wait for its next request.
	idlePatience = 2 * time.Minute

	// maxConnections is how many connections there are at most: those of all viewers, and
	// some for files and programs.
	maxConnections = 4 * web.MaxViewers
)

// Run serves the page until ctx ends.
func (c *Command) Run(ctx context.Context, e *tool.Env) error {
	source, err := sourceOf(e)
	if err != nil {
		return err
	}
	apiSource, err := sourceOf(e) // a watcher of its own, as its question is another
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", c.Listen.String())
	if err != nil {
		return cli.NameListen("--listen", c.Listen.AddrPort, err)
	}
	page := web.New(web.Scope{Of: "bus", Name: sanitize.Text(e.Bus)}, source).WithAPI(apiSource)
	defer page.Close()
	fmt.Fprintf(e.Err, "the page is at http://%s/\n", listener.Addr())
	if addr := listener.Addr().(*net.TCPAddr).AddrPort(); !cli.OnlyLoopback([]netip.AddrPort{addr}) {
		fmt.Fprintf(e.Err, "warning: other hosts can reach %s, and whoever does sees the bus: --listen 127.0.0.1:%d shows it to this host only\n", addr, addr.Port())
	}
	return serve(ctx, listener, page)
}

// sourceOf returns the whole bus.
func sourceOf(e *tool.Env) (web.Source, error) {
	w, err := e.Watcher()
	if err != nil {
		return web.Source{}, err
	}
	o, err := e.Observer()
	if err != nil {
		return web.Source{}, err
	}
	wait := min(e.Timeout, patience)
	return web.Source{
		Look: func(ctx context.Context, q state.Question) overview.Overview { return w.Look(ctx, nil, q, wait) },
		Ask: func(ctx context.Context, row *overview.Row, q state.Question) (state.State, error) {
			return o.Ask(ctx, row.Entry, q)
		},
	}, nil
}

// serve serves until ctx ends.
//
//   - Errors: what ended the server before.
func serve(ctx context.Context, listener net.Listener, page http.Handler) error {
	server := httpserver.New(httpserver.Config{Handler: page, Connections: maxConnections, Patience: requestPatience, Idle: idlePatience})
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return fmt.Errorf("--listen: %w", err)
	case <-ctx.Done():
	}
	_ = server.Close() // it returns what closing the listener did
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("--listen: %w", err)
	}
	return nil
}
