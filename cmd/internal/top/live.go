// SPDX-License-Identifier: Apache-2.0

package top

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/screen"
)

// display is what a view is shown on; screen.Terminal is one.
type display interface {
	Keys() <-chan screen.Key
	Size() (width, height int)
	Draw(lines []string) error
	Forget()
	Resume() error
	Suspend() error
}

// look is one look at the bus, on a goroutine of its own.
type look struct {
	overview overview.Overview
	panicked any // with the stack
}

// run shows a view until a key ends it or ctx ends. Keys are answered while a look is under
// way.
//
//   - see: looks at the bus.
func run(ctx context.Context, d display, v *view, see func(context.Context) overview.Overview, p *pace) error {
	ctx, cancel := context.WithCancel(ctx)
	looks := make(chan look, 1)
	looking := false
	defer func() {
		cancel()
		if looking {
			<-looks
		}
	}()
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		if err := d.Draw(v.frame(d.Size())); err != nil {
			return err
		}
		select {
		case l := <-looks:
			looking = false
			if l.panicked != nil {
				panic(l.panicked) // here, where the terminal is given back
			}
			if !v.paused {
				v.show(l.overview)
			}
			next.Reset(p.rest())
		case <-next.C:
			if v.paused {
				next.Reset(p.interval)
				continue
			}
			looking = true
			p.begin()
			go func() { looks <- guarded(ctx, see) }()
		case k := <-d.Keys():
			quit, err := answer(d, v, k)
			if quit || err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// answer handles a key: first those that are about the terminal.
func answer(d display, v *view, k screen.Key) (quit bool, err error) {
	switch k {
	case screen.Suspend:
		return false, d.Suspend()
	case screen.Redraw:
		return false, d.Resume()
	case screen.Resize:
		d.Forget()
		return false, nil
	default:
		return v.press(k), nil
	}
}

func guarded(ctx context.Context, see func(context.Context) overview.Overview) (l look) {
	defer func() {
		if p := recover(); p != nil {
			l.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
		}
	}()
	return look{overview: see(ctx)}
}
