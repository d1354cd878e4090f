// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watchers are the tools that look at the bus.
type watchers struct {
	tagbus, folder string
	processor      string // which they have; "" is all

	top, web *exec.Cmd
	closers  []io.Closer // the terminal of top, and the viewers
}

// list prints how long tagbus ls takes.
func (w *watchers) list() error {
	var times []float64
	lines := 0
	for range 5 {
		begun := time.Now()
		out, err := on(w.processor, w.tagbus, "ls", "--bus", w.folder).Output()
		if err != nil {
			return fmt.Errorf("tagbus ls: %w", err)
		}
		times = append(times, time.Since(begun).Seconds())
		lines = strings.Count(string(out), "\n")
	}
	fmt.Fprintf(os.Stdout, "tagbus ls: %d lines in %.2f s (median of %d)\n", lines, median(times), len(times))
	return nil
}

// shares prints which share of a processor top and web take.
func (w *watchers) shares() error {
	if err := w.start(); err != nil {
		return err
	}
	defer w.stop()
	<-time.After(5 * time.Second) // connections
	const seconds = 20
	top, web := cpu(w.top), cpu(w.web)
	<-time.After(seconds * time.Second)
	fmt.Fprintf(os.Stdout, "tagbus top: %.1f %% of a processor; tagbus web with 3 viewers: %.1f %%\n",
		100*(cpu(w.top)-top)/seconds, 100*(cpu(w.web)-web)/seconds)
	return nil
}

// cpu returns the processor time of a process that runs, in seconds.
func cpu(c *exec.Cmd) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid))
	must(err)
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	var user, system float64
	_, err = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	must(err)
	return (user + system) / 100 // ticks of Linux
}

// start starts top in a terminal of 120 x 40, and web with three viewers.
func (w *watchers) start() error {
	master, slave, err := terminal()
	if err != nil {
		return err
	}
	w.top = on(w.processor, w.tagbus, "top", "--bus", w.folder)
	w.top.Env = append(os.Environ(), "TERM=xterm-256color")
	w.top.Stdin, w.top.Stdout, w.top.Stderr = slave, slave, slave
	w.top.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	if err := w.top.Start(); err != nil {
		return err
	}
	_ = slave.Close()
	go func() { _, _ = io.Copy(io.Discard, master) }()
	w.closers = append(w.closers, master)

	w.web = on(w.processor, w.tagbus, "web", "--bus", w.folder, "--listen", "127.0.0.1:0")
	w.web.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := w.web.StderrPipe()
	if err != nil {
		return err
	}
	if err := w.web.Start(); err != nil {
		return err
	}
	url := ""
	for lines := bufio.NewScanner(said); url == "" && lines.Scan(); {
		if at := strings.Index(lines.Text(), "http://"); at >= 0 {
			url = strings.Fields(lines.Text()[at:])[0]
		}
	}
	if url == "" {
		return fmt.Errorf("tagbus web does not say where it listens")
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	return w.view(strings.TrimSuffix(url, "/"))
}

// views are what three viewers look at.
var views = []string{"?view=overview", "?view=processes&rows=40", "?view=tags&rows=40"}

func (w *watchers) view(url string) error {
	for _, view := range views {
		answer, err := http.Get(url + "/live" + view)
		if err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", view, answer.Status)
		}
		w.closers = append(w.closers, answer.Body)
		go func() { _, _ = io.Copy(io.Discard, answer.Body) }()
	}
	return nil
}

func (w *watchers) stop() {
	for _, c := range []*exec.Cmd{w.top, w.web} {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	}
	for _, c := range w.closers {
		_ = c.Close()
	}
	w.closers = nil
}

// terminal opens a pseudo-terminal.
func terminal() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120})
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		_ = master.Close()
	}
	return master, slave, err
}
