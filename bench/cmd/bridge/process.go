// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a program that was started. Its standard output and error are one.
type process struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	last  string        // line
	ready time.Duration // processor time until it was ready
}

// begin starts a program, and waits until it says a line with a text.
func begin(path string, args []string, text string) (*process, error) {
	p := &process{cmd: exec.Command(path, args...), lines: make(chan string, 100)}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stdout, p.cmd.Stderr = w, w
	if p.in, err = p.cmd.StdinPipe(); err == nil {
		err = p.cmd.Start()
	}
	_ = w.Close() // the program has it
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(r); s.Scan(); {
			p.lines <- s.Text()
		}
		_ = r.Close()
	}()
	if err := p.await(text); err != nil {
		return nil, err
	}
	p.ready = processorTime(p.cmd.Process.Pid)
	return p, nil
}

// await reads lines until one has a text.
func (p *process) await(text string) error {
	for line := range p.lines {
		if p.last = line; strings.Contains(line, text) {
			return nil
		}
	}
	return fmt.Errorf("%s has ended: %w: %s", p.cmd.Path, p.cmd.Wait(), p.last)
}

// ask writes a line, and returns the next one that is JSON.
func (p *process) ask(line string) (answer string, err error) {
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		return "", err
	}
	err = p.await("{")
	return p.last, err
}

// end waits until the program ends, and returns its processor time since it was ready.
func (p *process) end() (used time.Duration, err error) {
	for line := range p.lines {
		p.last = line
	}
	if err := p.cmd.Wait(); err != nil {
		return 0, fmt.Errorf("%s: %w: %s", p.cmd.Path, err, p.last)
	}
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime() - p.ready, nil
}

// stop ends a program in order.
func (p *process) stop() (used time.Duration, err error) {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	return p.end()
}

// kill ends a program at once.
func (p *process) kill() error {
	err := p.cmd.Process.Kill()
	_, _ = p.end() // by the signal
	return err
}

// tick is the unit of times in /proc.
const tick = 10 * time.Millisecond

// processorTime returns that of a process so far; zero: it has ended.
func processorTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), ") ") // behind the name, which may have anything
	fields := strings.Fields(after)
	var sum time.Duration
	for _, field := range fields[11:13] { // of the user, and of the system
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0
		}
		sum += time.Duration(n) * tick
	}
	return sum
}

// load returns the load of the machine over a minute.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}
