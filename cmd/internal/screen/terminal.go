// SPDX-License-Identifier: Apache-2.0

//go:build linux

package screen

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"tagbus/internal/stream"
)

var (
	// ErrNoTerminal is returned by Open if one of its files is no terminal.
	ErrNoTerminal = errors.New("no terminal")

	// ErrGone is returned if the terminal was hung up, as by the end of an ssh: there is nothing
	// to draw on, and nothing to give back.
	ErrGone = errors.New("the terminal has gone")
)

const (
	defaultWidth, defaultHeight = 80, 24 // of a terminal that does not know its size

	// stopTime is how long the system may take to stop the process.
	stopTime = 200 * time.Millisecond

	typedAtOnce = 256 // bytes
)

// Terminal is a terminal that shows frames. Close it.
//
// Threads: one, but Keys may be read on any.
type Terminal struct {
	in, out *os.File
	saved   *term.State // how it was
	canvas  Canvas

	keys    chan Key
	signals chan os.Signal
	done    chan struct{} // closed by Close
	wake    [2]int        // a pipe that ends the read of a key
	running sync.WaitGroup
}

// Open takes a terminal over: raw mode, the alternate screen, no cursor.
//
//   - in: from which keys come. out: which shows frames.
//   - Errors: ErrNoTerminal, ErrGone, and those of the system. The terminal is then as it was.
func Open(in, out *os.File) (*Terminal, error) {
	if !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil, ErrNoTerminal
	}
	t := &Terminal{
		in: in, out: out,
		keys: make(chan Key), signals: make(chan os.Signal, 16), done: make(chan struct{}),
	}
	if err := unix.Pipe2(t.wake[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	if err := t.enter(); err != nil {
		t.closePipe()
		return nil, err
	}
	signal.Notify(t.signals, syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGTSTP)
	if !signal.Ignored(syscall.SIGHUP) { // as below nohup
		signal.Notify(t.signals, syscall.SIGHUP)
	}
	bytes := make(chan []byte)
	t.running.Go(func() { t.read(bytes) })
	t.running.Go(func() { Type(bytes, t.done, t.emit) })
	t.running.Go(t.translate)
	return t, nil
}

// Keys are what is typed, and what happens to the terminal.
func (t *Terminal) Keys() <-chan Key { return t.keys }

// Size returns its columns and lines.
func (t *Terminal) Size() (width, height int) {
	width, height, err := term.GetSize(int(t.out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return defaultWidth, defaultHeight
	}
	return width, height
}

// Draw shows a frame (see Canvas.Frame).
//
//   - Errors: ErrGone, and those of the terminal.
//   - Blocks: while the terminal takes nothing.
func (t *Terminal) Draw(lines []string) error {
	if frame := t.canvas.Frame(lines); len(frame) > 0 {
		_, err := t.out.Write(frame)
		return t.told(err)
	}
	return nil
}

// told returns an error of the terminal: ErrGone, if that is why.
func (t *Terminal) told(err error) error {
	if err != nil && (stream.Gone(t.out, err) || stream.Gone(t.in, err)) {
		return ErrGone
	}
	return err
}

// Forget makes the next Draw draw all.
func (t *Terminal) Forget() { t.canvas.Forget() }

// Resume takes the terminal over again, after another program had it.
func (t *Terminal) Resume() error { return t.enter() }

// Suspend gives the terminal back, stops the process as ctrl-Z does, and takes the
// terminal over again once it goes on. Where there is no shell that could let it go on, as in
// a container, it is not stopped.
//
//   - Blocks: until then.
func (t *Terminal) Suspend() error {
	if err := t.leave(); err != nil {
		return err
	}
	resumed := make(chan os.Signal, 1)
	signal.Notify(resumed, syscall.SIGCONT)
	defer signal.Stop(resumed)
	if underShell() {
		// The group, so that a program that has started this one stops too. Not SIGTSTP: Go
		// goes on to handle a signal that it was asked for once.
		if err := unix.Kill(0, unix.SIGSTOP); err != nil {
			return errors.Join(err, t.enter())
		}
		select {
		case <-resumed:
		case <-time.After(stopTime):
		}
	}
	return t.enter()
}

// underShell reports whether there may be a shell that lets the process go on: a session
// begins with it, and not with the process.
func underShell() bool {
	session, err := unix.Getsid(0)
	return err == nil && session != unix.Getpgrp()
}

// Close gives the terminal back as it was. The second call does nothing.
func (t *Terminal) Close() error {
	select {
	case <-t.done:
		return nil
	default:
	}
	signal.Stop(t.signals)
	close(t.done)
	_, _ = unix.Write(t.wake[1], []byte{0}) // an empty pipe has room
	t.running.Wait()
	t.closePipe()
	return t.leave()
}

func (t *Terminal) closePipe() {
	for _, fd := range t.wake {
		_ = unix.Close(fd) // a pipe has nothing to lose
	}
}

// enter makes the terminal ours. In the background the system stops the process here, until
// it is in the foreground.
func (t *Terminal) enter() error {
	state, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return t.told(err)
	}
	if t.saved == nil {
		t.saved = state
	}
	t.canvas.Forget()
	_, err = t.out.WriteString(enter)
	return t.told(err)
}

// leave makes the terminal what it was.
func (t *Terminal) leave() error {
	_, err := t.out.WriteString(leave)
	return t.told(errors.Join(err, term.Restore(int(t.in.Fd()), t.saved)))
}

// emit hands over a key.
func (t *Terminal) emit(k Key) {
	select {
	case t.keys <- k:
	case <-t.done:
	}
}

// translate makes keys of signals.
func (t *Terminal) translate() {
	for {
		select {
		case s := <-t.signals:
			switch s {
			case syscall.SIGWINCH:
				t.emit(Resize)
			case syscall.SIGCONT:
				t.emit(Redraw)
			case syscall.SIGTSTP:
				t.emit(Suspend)
			default:
				t.emit(Quit)
			}
		case <-t.done:
			return
		}
	}
}

// read hands over what is typed, until the terminal is closed or has gone.
func (t *Terminal) read(bytes chan<- []byte) {
	fd := int(t.in.Fd())
	for {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(t.wake[0]), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil {
			t.emit(Quit)
			return
		}
		if poll[1].Revents != 0 {
			return
		}
		piece := make([]byte, typedAtOnce)
		n, err := unix.Read(fd, piece)
		switch {
		case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN):
			continue
		case err != nil || n == 0:
			t.emit(Quit)
			return
		}
		select {
		case bytes <- piece[:n]:
		case <-t.done:
			return
		}
	}
}
