// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"tagbus/bench/internal/load"
)

// child is a process that this program has started, which is this program too. It ends with
// its standard input.
type child struct {
	command *exec.Cmd
	stdin   io.WriteCloser
	lines   *bufio.Scanner
}

// spawn starts a process, and waits until it is ready.
func spawn(args ...string) (*child, error) {
	p := &child{command: exec.Command("/proc/self/exe", args...)}
	p.command.Stderr = os.Stderr
	p.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var err error
	if p.stdin, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.lines = bufio.NewScanner(out)
	return p, p.command.Start()
}

func (p *child) say(line string) error {
	_, err := io.WriteString(p.stdin, line+"\n")
	return err
}

// read reads the next line of the process.
func (p *child) read(v any) error {
	if !p.lines.Scan() {
		return fmt.Errorf("directory: process %d has ended", p.command.Process.Pid)
	}
	return json.Unmarshal(p.lines.Bytes(), v)
}

func (p *child) close() {
	_ = p.stdin.Close()
	_ = p.command.Process.Kill()
	_ = p.command.Wait() // says that it was killed
}

// cpu is the processor time of the process so far, in seconds.
func (p *child) cpu() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))
	if err != nil {
		return 0
	}
	const user, system, tick = 11, 12, 100 // behind the name; ticks in a second
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks float64
	for _, at := range []int{user, system} {
		n, _ := strconv.ParseFloat(fields[at], 64)
		ticks += n
	}
	return ticks / tick
}

// peak is the most memory that the process had so far, in bytes.
func (p *child) peak() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.command.Process.Pid))
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), "VmHWM:")
	var kib float64
	_, _ = fmt.Sscan(after, &kib) // 0: unknown
	return kib * 1024
}

// startMembers starts the members of etcd, one after the other.
func (b *bed) startMembers(folder string) error {
	var at []string
	for i := range b.o.Members {
		listen, err := freePorts()
		if err != nil {
			return err
		}
		p, err := spawn("--role="+roleMember, "--addr="+listen, "--way="+filepath.Join(folder, strconv.Itoa(i))+","+strings.Join(at, "+"))
		if err != nil {
			return err
		}
		b.members = append(b.members, p)
		var ready struct{ Listen string }
		if err := p.read(&ready); err != nil {
			return err
		}
		at = append(at, ready.Listen)
	}
	b.url = "etcd://" + strings.Join(at, ",") + "/bench"
	return nil
}

// startClients starts the processes of the clients.
func (b *bed) startClients() error {
	for i := range b.o.Spread {
		p, err := spawn("--role="+roleClients, "--addr="+b.url, fmt.Sprintf("--connects=%d", b.o.Connects),
			fmt.Sprintf("--tags=%d", b.o.Tags), fmt.Sprintf("--spread=%d", b.o.Spread), fmt.Sprintf("--part=%d", i))
		if err != nil {
			return err
		}
		b.clients = append(b.clients, p)
	}
	for _, p := range b.clients {
		var ready struct{ Listen string }
		if err := p.read(&ready); err != nil {
			return err
		}
	}
	return nil
}

// freePorts returns an address on loopback with two ports that nothing listens on: the
// second is the next one.
func freePorts() (string, error) {
	for range 100 {
		first, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		at := first.Addr().(*net.TCPAddr)
		second, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", at.Port+1))
		_ = first.Close()
		if err == nil {
			_ = second.Close()
			return at.String(), nil
		}
	}
	return "", fmt.Errorf("directory: no two free ports beside each other: %w", load.ErrNoPorts)
}
