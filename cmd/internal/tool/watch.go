// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/alecthomas/kong"

	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/table"
)

// watchEvery is how often a command looks again that is told no time.
const watchEvery = 2 * time.Second

// minWatch keeps looking from being a load.
const minWatch = 100 * time.Millisecond

// Watch is the flag --watch [TIME]: look again and again. The zero value looks once.
type Watch time.Duration

// Every returns how often a command looks; 0 is once.
func (w Watch) Every() time.Duration { return time.Duration(w) }

// Decode implements kong.MapperValue. The value may be left out.
func (w *Watch) Decode(ctx *kong.DecodeContext) error {
	*w = Watch(watchEvery)
	token := ctx.Scan.Peek()
	text, isText := token.Value.(string)
	d, err := time.ParseDuration(text)
	switch {
	case token.Type == kong.FlagValueToken: // it belongs to this flag, by = or from a file
		ctx.Scan.Pop()
		if !isText || text == "true" {
			return nil
		}
	case err != nil || token.IsEOL(): // the next word is no time
		return nil
	default:
		ctx.Scan.Pop()
	}
	if text == "false" {
		*w = 0
		return nil
	}
	if err != nil {
		return fmt.Errorf("got %q, want a time with its unit, for example 5s", text)
	}
	if d < minWatch {
		return fmt.Errorf("got %v, want at least %v", d, minWatch)
	}
	*w = Watch(d)
	return nil
}

// Repeat looks once, or with a Watch again and again until ctx ends. On a terminal each look
// takes the place of the last one; elsewhere a line with the time stands above each, unless
// they are JSON.
//
//   - look: writes to out.
//   - Errors: those of look and of writing; the cause of the end of ctx if there is no Watch
//     and look was interrupted.
func (e *Env) Repeat(ctx context.Context, w Watch, look func(ctx context.Context, out io.Writer) error) error {
	if w == 0 {
		return look(ctx, e.Out)
	}
	tick := time.NewTicker(w.Every())
	defer tick.Stop()
	for {
		page := &screen{width: table.Width(e.Out)}
		err := look(ctx, page)
		if ctx.Err() != nil {
			return nil
		}
		if err == nil {
			err = e.show(page.Bytes())
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// screen is what one look has found. Tables in it are as wide as the terminal.
type screen struct {
	bytes.Buffer
	width int
}

// Width implements table.Wide.
func (s *screen) Width() int { return s.width }

// clear moves to the top of a terminal and clears it.
const clear = "\x1b[H\x1b[2J"

// show writes what one look has found, in one write.
func (e *Env) show(page []byte) error {
	head := ""
	switch {
	case e.JSON:
	case cli.IsTerminal(e.Out) && os.Getenv("TERM") != "dumb":
		head = clear
	default:
		head = time.Now().Format("15:04:05") + "\n"
	}
	_, err := e.Out.Write(append([]byte(head), page...))
	return err
}
