// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package bed has what a fault is done to: two hosts, which are network namespaces on one wire, processes on
// them, and the machine below, which may stand still.
package bed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The addresses of the hosts of a Bed.
const (
	AddressA = "10.77.0.1"
	AddressB = "10.77.0.2"
	Later    = "10.77.0.7"
)

// prefix is that of the names of all namespaces; the number of the process that made one follows.
const prefix = "tbfault-"

var count atomic.Int64

// open are the beds that Close was not called for.
var (
	openMu sync.Mutex
	open   = make(map[*Bed]bool)
)

// Host is a network namespace.
type Host struct{ Name, Address string }

// Bed is two hosts on one wire, and a folder. Close it.
type Bed struct {
	Dir       string
	A, B      Host
	mu        sync.Mutex
	processes []*Process
	undo      []func()
}

// Missing returns what this machine lacks of the programs, or "".
func Missing(programs ...string) string {
	var missing []string
	if os.Geteuid() != 0 {
		missing = append(missing, "root")
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, program)
		}
	}
	if missing == nil {
		return ""
	}
	return "needs " + strings.Join(missing, ", ")
}

// Tidy removes what processes that have ended have left: a runner that was killed closes nothing.
func Tidy() {
	out, err := exec.Command("ip", "netns", "list").Output()
	if err != nil {
		return
	}
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest, ours := strings.CutPrefix(name, prefix)
		pid, _, _ := strings.Cut(rest, "-")
		if n, err := strconv.Atoi(pid); ours && err == nil && errors.Is(unix.Kill(n, 0), unix.ESRCH) {
			_ = exec.Command("ip", "netns", "del", name).Run() // another runner may be faster
		}
	}
}

// New makes a bed, with its folder below dir.
//
// Errors: those of the commands, with what they said.
func New(dir string) (*Bed, error) {
	n := count.Add(1)
	name := fmt.Sprintf("%s%d-%d", prefix, os.Getpid(), n)
	b := &Bed{Dir: filepath.Join(dir, strconv.FormatInt(n, 10)), A: Host{name + "-a", AddressA}, B: Host{name + "-b", AddressB}}
	if err := os.MkdirAll(b.Dir, 0o755); err != nil {
		return nil, err
	}
	openMu.Lock()
	open[b] = true
	openMu.Unlock()
	for _, host := range []Host{b.A, b.B} {
		if err := b.Run("ip", "netns", "add", host.Name); err != nil {
			b.Close()
			return nil, err
		}
		b.Undo(func() { _ = b.Run("ip", "netns", "del", host.Name) })
	}
	lines := []string{
		"-n A link add wire type veth peer name wire netns B",
		"-n A address add " + AddressA + "/24 dev wire",
		"-n B address add " + AddressB + "/24 dev wire",
		"-n A link set lo up", "-n B link set lo up", "-n A link set wire up", "-n B link set wire up",
	}
	for _, line := range lines {
		if err := b.IP(line); err != nil {
			b.Close()
			return nil, err
		}
	}
	return b, nil
}

// IP runs ip with some words, of which A and B are the namespaces.
//
// Errors: that of the command.
func (b *Bed) IP(line string) error {
	words := strings.Fields(line)
	for i, word := range words {
		switch word {
		case "A":
			words[i] = b.A.Name
		case "B":
			words[i] = b.B.Name
		}
	}
	return b.Run("ip", words...)
}

// Run runs a command of this machine.
//
// Errors: that of the command, with what it said.
func (*Bed) Run(name string, args ...string) error {
	_, err := output(name, args...)
	return err
}

// On runs a command on a host.
//
// Errors: that of the command, with what it said.
func (b *Bed) On(h Host, args ...string) error {
	_, err := b.Output(h, args...)
	return err
}

// Output runs a command on a host, and returns what it said.
//
// Errors: that of the command, with what it said.
func (*Bed) Output(h Host, args ...string) (string, error) {
	return output("ip", append([]string{"netns", "exec", h.Name}, args...)...)
}

func output(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// Undo has something done when the bed is closed. What was last given comes first.
func (b *Bed) Undo(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.undo = append(b.undo, f)
}

// CloseAll closes all beds: what their undo is to remove would outlive the program.
func CloseAll() {
	openMu.Lock()
	beds := slices.Collect(maps.Keys(open))
	openMu.Unlock()
	for _, b := range beds {
		b.Close()
	}
}

// Close kills all processes, and takes the bed down, once. The folder stays.
func (b *Bed) Close() {
	openMu.Lock()
	delete(open, b)
	openMu.Unlock()
	b.mu.Lock()
	processes, undo := b.processes, b.undo
	b.processes, b.undo = nil, nil
	b.mu.Unlock()
	for _, p := range processes {
		p.Kill()
	}
	for i := len(undo) - 1; i >= 0; i-- {
		undo[i]()
	}
}

// Process is a child on a host, in a process group of its own.
type Process struct {
	Name  string
	Log   string // file of what it says
	cmd   *exec.Cmd
	ended chan struct{}
}

// Start starts a process on a host. before stands before its command line. What it says is in a file of its name.
//
// Errors: the system's.
func (b *Bed) Start(h Host, name string, env []string, args ...string) (*Process, error) {
	log, err := os.Create(filepath.Join(b.Dir, name+".log"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	p := &Process{Name: name, Log: log.Name(), ended: make(chan struct{})}
	p.cmd = exec.Command("ip", append([]string{"netns", "exec", h.Name}, args...)...)
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.Dir = log, log, b.Dir
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := start(p.cmd); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // the state tells
	}()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.processes = append(b.processes, p)
	return p, nil
}

// PID returns the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Signal sends a signal to the process and its group. When it returns from SIGSTOP the process stands still.
//
// Errors: the system's.
func (p *Process) Signal(s syscall.Signal) error {
	if err := unix.Kill(-p.PID(), s); err != nil {
		return fmt.Errorf("%s: %v: %w", p.Name, s, err)
	}
	if s != syscall.SIGSTOP {
		return nil
	}
	return unix.Waitid(unix.P_PID, p.PID(), nil, unix.WSTOPPED|unix.WNOWAIT, nil)
}

// Kill ends the process and all of its group at once.
func (p *Process) Kill() {
	select {
	case <-p.ended: // its number may be that of another process
		return
	default:
	}
	_ = unix.Kill(-p.PID(), unix.SIGKILL) // it may have ended
	<-p.ended
}

// Ended returns a channel that is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Status returns the exit status of a process that has ended, -1 if a signal has ended it.
func (p *Process) Status() int { return p.cmd.ProcessState.ExitCode() }

// launches starts processes on a thread that does not end: a child is killed with the thread that made it.
var launches = sync.OnceValue(func() chan func() {
	calls := make(chan func())
	go func() {
		lockThread()
		for call := range calls {
			call()
		}
	}()
	return calls
})

func start(cmd *exec.Cmd) error {
	result := make(chan error)
	launches() <- func() { result <- cmd.Start() }
	return <-result
}
