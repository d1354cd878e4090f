// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"tagbus/internal/testkit"
)

// patience is how long a script waits for anything.
const patience = 30 * time.Second

type processesKey struct{}

// processes are those of one script.
type processes struct{ byName map[string]*process }

func (p *processes) killAll() {
	for _, proc := range p.byName {
		_ = proc.cmd.Process.Kill() // it may have ended
		<-proc.ended
	}
}

// process is a running command whose standard error is followed line by line.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ended chan struct{} // closed after the last line

	mu      sync.Mutex
	lines   []string
	changed chan struct{} // closed and replaced with each line
}

func processOf(ts *testscript.TestScript, name string) *process {
	p := ts.Value(processesKey{}).(*processes).byName[name]
	if p == nil {
		ts.Fatalf("no process %q", name)
	}
	return p
}

// start NAME [-out FILE | -head BYTES] COMMAND... starts a process. Its standard
// input is a pipe that send writes to; its standard output is dropped, or goes to
// the file, or to a pipe that is closed after so many bytes.
func start(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: start NAME [-out FILE | -head BYTES] COMMAND...")
	}
	name, args := args[0], args[1:]
	var option, value string
	if strings.HasPrefix(args[0], "-") {
		option, value, args = args[0], args[1], args[2:]
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "GORACE="+ts.Getenv("GORACE"))
	switch option {
	case "-out":
		file, err := os.Create(ts.MkAbs(value))
		ts.Check(err)
		defer file.Close()
		cmd.Stdout = file
	case "-head":
		n, err := strconv.ParseInt(value, 10, 64)
		ts.Check(err)
		reader, writer, err := os.Pipe()
		ts.Check(err)
		defer writer.Close()
		cmd.Stdout = writer
		go func() {
			_, _ = io.CopyN(io.Discard, reader, n) // an early end shows in the process
			reader.Close()
		}()
	}
	stdin, err := cmd.StdinPipe()
	ts.Check(err)
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	p := &process{cmd: cmd, stdin: stdin, ended: make(chan struct{}), changed: make(chan struct{})}
	ts.Value(processesKey{}).(*processes).byName[name] = p
	go p.follow(stderr)
}

func (p *process) follow(stderr io.Reader) {
	defer close(p.ended)
	for scanner := bufio.NewScanner(stderr); scanner.Scan(); {
		p.mu.Lock()
		p.lines = append(p.lines, scanner.Text())
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
	}
	_ = p.cmd.Wait() // the state tells
}

// expect NAME REGEXP waits until the process has written a line that matches.
func expect(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: expect NAME REGEXP")
	}
	p, pattern := processOf(ts, args[0]), regexp.MustCompile(args[1])
	if neg {
		if line := p.find(pattern); line != "" {
			ts.Fatalf("%s: got line %q, want none that matches %s", args[0], line, pattern)
		}
		return
	}
	timeout := time.After(patience)
	for {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		if p.find(pattern) != "" {
			return
		}
		select {
		case <-changed:
		case <-p.ended:
			if p.find(pattern) != "" {
				return
			}
			ts.Fatalf("%s ended without a line that matches %s:\n%s", args[0], pattern, p.text())
		case <-timeout:
			ts.Fatalf("%s: no line matches %s after %v:\n%s", args[0], pattern, patience, p.text())
		}
	}
}

func (p *process) find(pattern *regexp.Regexp) string { return p.findFrom(0, pattern) }

// findFrom is find among the lines from the nth on.
func (p *process) findFrom(n int, pattern *regexp.Regexp) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, line := range p.lines[min(n, len(p.lines)):] {
		if pattern.MatchString(line) {
			return line
		}
	}
	return ""
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// send NAME TEXT writes a line to the standard input of a process; send NAME
// closes it.
func send(ts *testscript.TestScript, _ bool, args []string) {
	p := processOf(ts, args[0])
	if len(args) == 1 {
		ts.Check(p.stdin.Close())
		return
	}
	_, err := io.WriteString(p.stdin, strings.Join(args[1:], " ")+"\n")
	ts.Check(err)
}

// signal NAME TERM|INT|KILL|STOP|CONT sends a signal to a process.
func sendSignal(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]os.Signal{
		"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT,
	}
	if len(args) != 2 || signals[args[1]] == nil {
		ts.Fatalf("usage: signal NAME TERM|INT|KILL|STOP|CONT")
	}
	p := processOf(ts, args[0])
	ts.Check(p.cmd.Process.Signal(signals[args[1]]))
	if args[1] == "STOP" { // it does not stop before it is next scheduled
		ts.Check(unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil))
	}
}

// finish NAME [STATUS [REGEXP]] waits for the end of a process, and compares its
// exit status (-1 when a signal killed it) and the last line of its standard error. No
// process may end with a stack trace.
func finish(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 1 || len(args) > 3 {
		ts.Fatalf("usage: finish NAME [STATUS [REGEXP]]")
	}
	p := processOf(ts, args[0])
	select {
	case <-p.ended:
	case <-time.After(patience):
		ts.Check(p.cmd.Process.Signal(syscall.SIGQUIT))
		<-p.ended
		ts.Fatalf("%s did not end within %v:\n%s", args[0], patience, p.text())
	}
	text := p.text()
	ts.Logf("[%s]\n%s", args[0], text)
	if got := strconv.Itoa(p.cmd.ProcessState.ExitCode()); len(args) > 1 && got != args[1] {
		ts.Fatalf("%s: got exit status %s, want %s:\n%s", args[0], got, args[1], text)
	}
	if said := testkit.Said([]byte(text)); strings.Contains(said, "goroutine ") || strings.Contains(said, "panic") {
		ts.Fatalf("%s: got a stack trace:\n%s", args[0], text)
	}
	if len(args) == 3 {
		lines := strings.Split(text, "\n")
		if last := lines[len(lines)-1]; !regexp.MustCompile(args[2]).MatchString(last) {
			ts.Fatalf("%s: got last line %q, want one that matches %s", args[0], last, args[2])
		}
	}
}
