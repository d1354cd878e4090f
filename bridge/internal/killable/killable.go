// SPDX-License-Identifier: Apache-2.0

// Package killable runs servers of tests, each as a process that can be killed, stand still, and be started again.
package killable

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Process is a server. TB and Hint have no default.
//
// Threads: any, except for Begin and Await.
type Process struct {
	TB   testing.TB
	Hint string // what to do if it ends at once

	mu      sync.Mutex
	command *exec.Cmd
	ended   chan struct{}

	ready chan struct{}
	said  strings.Builder // until it was ready, or has ended
}

// Begin starts a command, which ends with the test program.
//
//   - ready: reports whether a line of its stderr says that it takes clients.
func (p *Process) Begin(command *exec.Cmd, ready func(line string) bool) {
	p.TB.Helper()
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := command.StderrPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		p.TB.Fatalf("start a server: %v", err)
	}
	isReady, ended := make(chan struct{}), make(chan struct{})
	p.ready = isReady
	p.said.Reset()
	p.mu.Lock()
	p.command, p.ended = command, ended
	p.mu.Unlock()
	go func() {
		defer close(ended)
		waits := true
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			switch {
			case !waits:
			case ready(lines.Text()):
				waits = false
				close(isReady)
			default:
				p.said.WriteString(lines.Text() + "\n")
			}
		}
		_ = command.Wait()
	}()
}

// Await waits until the server takes clients.
func (p *Process) Await() {
	p.TB.Helper()
	p.mu.Lock()
	ended := p.ended
	p.mu.Unlock()
	select {
	case <-p.ready:
	case <-ended:
		p.TB.Fatalf("a server has ended: %s; it said\n%s", p.Hint, p.said.String())
	case <-p.TB.Context().Done():
		p.TB.Fatal("a server is not ready")
	}
}

// Kill kills the server, if it runs, as kill -9 does.
func (p *Process) Kill() {
	p.mu.Lock()
	command, ended := p.command, p.ended
	p.command = nil
	p.mu.Unlock()
	if command != nil {
		_ = command.Process.Kill()
		<-ended
	}
}

// Stop makes the server stand still, as a machine that hangs does, until Continue.
func (p *Process) Stop() {
	p.TB.Helper()
	p.signal(syscall.SIGSTOP)
	for !p.stands() { // a thread that runs goes on for a moment
		if p.TB.Context().Err() != nil {
			p.TB.Fatal("a server does not stop")
		}
		runtime.Gosched()
	}
}

// stands reports whether all threads of the server are stopped.
func (p *Process) stands() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.command == nil {
		return true
	}
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.command.Process.Pid))
	for _, file := range threads {
		text, err := os.ReadFile(file)
		if _, state, _ := strings.Cut(string(text), ") "); err == nil && !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return true
}

// Continue ends Stop.
func (p *Process) Continue() { p.signal(syscall.SIGCONT) }

func (p *Process) signal(which syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.command != nil {
		_ = p.command.Process.Signal(which)
	}
}
