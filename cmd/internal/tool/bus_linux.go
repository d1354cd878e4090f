// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/bus/observer"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/options"
	"tagbus/cmd/internal/overview"
	"tagbus/internal/stuck"
	"tagbus/node"
)

// opened is what a command has opened of a bus.
type opened struct {
	guard    *cli.Guard
	node     *node.Node
	observer *observer.Observer
}

// Node returns the node through which the command looks at the bus.
func (e *Env) Node() (*node.Node, error) {
	n, err := e.open()
	if err == nil {
		e.node = n
	}
	return n, err
}

// open opens the node, unless it is open.
func (e *Env) open() (*node.Node, error) {
	if e.node != nil {
		return e.node, nil
	}
	g := e.guard
	if g == nil {
		var err error
		if g, err = e.Open(e.warn); err != nil { // takes as long as the files do: what runs until a signal waits for them
			return nil, err
		}
		if g != nil { // else the caller may have gone on by now
			e.guard = g
		}
	}
	n, err := node.Open(node.Config{
		Bus: e.Bus, Backend: e.Transport(e.Backend), Access: g.Access(), Logger: slog.New(slog.DiscardHandler), Folder: e.folder(),
	})
	if err != nil {
		return nil, options.NameBus(err)
	}
	return n, nil
}

// folder returns how the folder of a bus is looked at.
func (e *Env) folder() file.Config { return file.Config{MaxFiles: e.MaxEntries} }

// Guard returns the certificates and the policy of a command that looks; nil if it has none. What is
// wrong with them later is written to standard error.
//
// Errors: those of cli.Security.Open; *FileSilentError if a file does not answer in the time of
// --timeout.
func (e *Env) Guard() (*cli.Guard, error) {
	if e.guard != nil {
		return e.guard, nil
	}
	g, err := stuck.Within(e.Timeout, func() (*cli.Guard, error) { return e.Open(e.warn) }, (*cli.Guard).Close)
	if late := (*stuck.LateError)(nil); errors.As(err, &late) {
		return nil, &FileSilentError{e.Bus, e.Timeout, late.Note}
	}
	e.guard = g
	return g, err
}

// warn says what is wrong with certificates and policy.
func (e *Env) warn(level slog.Level, text string) {
	if level >= slog.LevelWarn {
		fmt.Fprintf(e.Err, "tagbus: warning: %s\n", text)
	}
}

// Observer returns what asks instances for their state.
func (e *Env) Observer() (*observer.Observer, error) {
	if e.observer != nil {
		return e.observer, nil
	}
	n, err := e.Node()
	if err != nil {
		return nil, err
	}
	o, err := n.NewObserver(observer.Config{Name: "tagbus", Timeout: e.Timeout})
	if err != nil {
		return nil, err
	}
	e.observer = o
	return o, nil
}

// Watcher returns what looks at the whole bus.
func (e *Env) Watcher() (*overview.Watcher, error) {
	d, err := e.Directory() // first: it takes a bounded time
	if err != nil {
		return nil, err
	}
	o, err := e.Observer()
	if err != nil {
		return nil, err
	}
	w := overview.New(d, worded{o})
	if left := e.leftovers(); left != nil {
		w.SeeLeftovers(left)
	}
	return w, nil
}

// leftovers returns what looks for programs that have gone; nil if the directory keeps none.
func (e *Env) leftovers() func() overview.Leftovers {
	path, isFolder, err := directory.Folder(e.Bus)
	if err != nil || !isFolder {
		return nil
	}
	return func() overview.Leftovers { return leftIn(path, e.folder(), time.Now()) }
}

// Dead returns the programs that have gone without a word, for what asks none. It returns soon
// if the file system does not answer.
func (e *Env) Dead() []overview.Dead {
	look := e.leftovers()
	if look == nil {
		return nil
	}
	left, err := within(file.Patience, func() (overview.Leftovers, error) { return look(), nil })
	if err != nil {
		return nil // the list of entries says so
	}
	return left.Dead
}

// leftoversAge is how old a file is at least whose process is not known to have ended.
const leftoversAge = 5 * time.Second // file.Config.Expiry

// leftIn returns what programs that have gone have left in a folder. What is wrong with the
// folder its list says.
func leftIn(path string, look file.Config, now time.Time) (left overview.Leftovers) {
	survey, err := file.Look(path, look)
	if err != nil {
		return left
	}
	left.Full = !survey.All
	for i := range survey.Files {
		f := &survey.Files[i]
		switch e := &f.Entry; {
		case f.Err != nil || e.Role != directory.Publisher && e.Role != directory.Receiver:
		case f.Ended:
			left.Dead = append(left.Dead, overview.Dead{Entry: *e, Since: f.Written, Why: "its process has ended and has left its entry"})
		case now.Sub(f.Written) > max(leftoversAge, 3*f.Beat):
			left.Dead = append(left.Dead, overview.Dead{Entry: *e, Since: f.Written, Why: "its entry is not renewed"})
		}
	}
	return left
}

// worded asks as another, and says what failed in the words of the command line.
type worded struct{ overview.Asker }

// Ask implements overview.Asker.
func (w worded) Ask(ctx context.Context, d directory.Entry, q state.Question) (state.State, error) {
	s, err := w.Asker.Ask(ctx, d, q)
	if err != nil {
		err = &wordedError{err}
	}
	return s, err
}

// wordedError is an error with the text that cli.Text gives it.
type wordedError struct{ err error }

// Error says what failed.
func (e *wordedError) Error() string { return cli.Text(e.err) }

// Unwrap returns the error.
func (e *wordedError) Unwrap() error { return e.err }

// Close closes what was opened.
func (e *Env) Close() error {
	defer e.guard.Close() // after what asks it
	if e.node == nil {
		return nil
	}
	return e.node.Close() // with the observer
}
