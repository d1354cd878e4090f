// SPDX-License-Identifier: Apache-2.0

//go:build linux

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"tagbus/cmd/internal/tool"
)

// childTime is how long the other process may take to end.
const childTime = 5 * time.Second

// alone measures between this process and another one that it starts, on a bus of their
// own unless one is given.
func (c *Command) alone(ctx context.Context, e *tool.Env) (err error) {
	if e.Bus == "" {
		var dir string
		if dir, err = os.MkdirTemp("", "tagbus-bench-"); err != nil {
			return fmt.Errorf("no folder for the bus: %w: set TMPDIR to one that can be written, or give --bus", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
		flags := *e.Flags
		flags.Bus = dir
		own := &tool.Env{Flags: &flags, Streams: e.Streams, Hurry: e.Hurry}
		defer func() { err = errors.Join(err, own.Close()) }()
		e = own
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"bench", serveSide, "--child", "--quiet", "--bus", e.Bus, "--backend", e.Transport(e.Backend), "--first", c.First.String(), "--listen", c.Listen.Addr().String()}
	args = append(args, e.Args()...)
	other := exec.CommandContext(ctx, program, args...)
	other.Args[0] = os.Args[0]                                                // in tests the name says which program it is
	other.Cancel = func() error { return other.Process.Signal(os.Interrupt) } // its input ends, too
	other.WaitDelay = childTime
	other.Stderr = e.Err
	input, err := other.StdinPipe()
	if err != nil {
		return err
	}
	if err := other.Start(); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx) // a signal, say
		}
		return err
	}
	measuring, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := other.Wait()
		cancel(fmt.Errorf("the serving process has ended: %w", err))
	}()
	err = c.measure(measuring, e)
	_ = input.Close() // which ends it, unless it has ended
	<-ended
	return err
}
