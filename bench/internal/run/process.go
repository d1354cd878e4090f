// SPDX-License-Identifier: Apache-2.0

package run

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// process is a benchmark program that runs. It prints lines, and ends when its
// standard input does.
type process struct {
	name    string
	command *exec.Cmd
	stdin   io.WriteCloser
	lines   chan []byte
	stderr  bytes.Buffer
	cpuAtGo time.Duration
	ended   bool
}

// start starts a program. The system ends it with the thread that started it:
// see Runner.
func start(name, path string, args, environment []string) (*process, error) {
	p := &process{name: name, command: exec.Command(path, args...), lines: make(chan []byte, 8)}
	p.command.Env = append(os.Environ(), environment...)
	p.command.Stderr = &p.stderr
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var err error
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("run: start %s: %w", name, err)
	}
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			p.lines <- bytes.Clone(scanner.Bytes())
		}
	}()
	return p, nil
}

// errTime means that a program did not say what it was to say in time.
var errTime = errors.New("run: no answer in time")

// read reads the next line of a process into v.
func (p *process) read(v any, until <-chan time.Time) error {
	select {
	case line, ok := <-p.lines:
		if !ok {
			return fmt.Errorf("run: %s has ended: %s", p.name, p.said())
		}
		if err := json.Unmarshal(line, v); err != nil {
			return fmt.Errorf("run: %s: %w in %q", p.name, err, line)
		}
		return nil
	case <-until:
		return fmt.Errorf("%w: %s", errTime, p.name)
	}
}

// said is the end of what the process printed for people. The process has closed
// its standard output, and so ends.
func (p *process) said() string {
	p.wait()
	text := strings.TrimSpace(p.stderr.String())
	return text[max(0, len(text)-1000):]
}

// wait waits for the end of the process, which has been asked to end.
func (p *process) wait() {
	if p.ended {
		return
	}
	p.ended = true
	late := time.AfterFunc(5*time.Second, func() { _ = p.command.Process.Kill() })
	_ = p.command.Wait() // what it measured counts, not how it ended
	late.Stop()
}

// end asks the process to end; kill leaves it no choice.
func (p *process) end(kill bool) {
	if !p.ended {
		_ = p.stdin.Close()
		if kill {
			_ = p.command.Process.Kill()
		}
	}
	go func() {
		for range p.lines { // so that it is not held up by a full pipe
		}
	}()
	p.wait()
}

// cpu is the processor time that the process has used since go.
func (p *process) cpu() time.Duration {
	state := p.command.ProcessState
	if state == nil {
		return 0
	}
	return state.UserTime() + state.SystemTime() - p.cpuAtGo
}
