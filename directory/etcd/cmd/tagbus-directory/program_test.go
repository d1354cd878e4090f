// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long a test waits for what must come, on a machine that has other
// things to do.
const patience = 60 * time.Second

// program is a process of a test. Its lines on standard output and standard error are kept
// with the times at which they came.
type program struct {
	t     *testing.T
	name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ended chan struct{} // closed once the process is gone

	mutex sync.Mutex
	lines []said
	news  chan struct{} // closed at the next line, and at the end
}

// said is one line.
type said struct {
	text string
	at   time.Time
}

// launch starts this binary as a member or a client.
//
//   - before: words in front of the command, for example ip netns exec NAME.
func launch(t *testing.T, name, as string, before []string, args ...string) *program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return launchBinary(t, name, as, before, self, args...)
}

// launchBinary is launch with another binary of this test.
func launchBinary(t *testing.T, name, as string, before []string, binary string, args ...string) *program {
	t.Helper()
	words := append(append(append([]string{}, before...), binary), args...)
	p := &program{t: t, name: name, ended: make(chan struct{}), news: make(chan struct{})}
	p.cmd = exec.Command(words[0], words[1:]...)
	p.cmd.Env = append(os.Environ(), mode+"="+as, "GOMAXPROCS=2")
	// What stands in front of the command, as strace, ends with it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, in := io.Pipe()
	p.cmd.Stdout, p.cmd.Stderr = in, in
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			p.hear(scanner.Text())
		}
	}()
	go func() {
		_ = p.cmd.Wait() // the lines say why
		_ = in.Close()
		<-read
		close(p.ended)
		p.hear("(ended: " + p.cmd.ProcessState.String() + ")")
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", name, p.all())
		}
	})
	return p
}

// hear keeps a line.
func (p *program) hear(line string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.lines = append(p.lines, said{line, time.Now()})
	close(p.news)
	p.news = make(chan struct{})
}

// all returns what the program has said.
func (p *program) all() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var b bytes.Buffer
	for _, line := range p.lines {
		b.WriteString("  " + line.at.Format("05.000 ") + line.text + "\n")
	}
	return b.String()
}

// find returns the first line from an index on that one of some texts is in, and whether
// there is one.
func (p *program) find(from int, text string) (line said, at int, ok bool, news chan struct{}) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for i := from; i < len(p.lines); i++ {
		if strings.Contains(p.lines[i].text, text) {
			return p.lines[i], i, true, nil
		}
	}
	return said{}, 0, false, p.news
}

// mark is where the next line will be.
func (p *program) mark() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return len(p.lines)
}

// await returns the first line from an index on that has a text in it.
func (p *program) await(from int, text string) said {
	p.t.Helper()
	late := time.After(patience)
	for {
		line, _, ok, news := p.find(from, text)
		if ok {
			return line
		}
		select {
		case <-news:
		case <-late:
			p.t.Fatalf("%s: got no line with %q in %v, want one", p.name, text, patience)
		}
	}
}

// signal sends a signal to the process and to what stands in front of it.
func (p *program) signal(s syscall.Signal) {
	p.t.Helper()
	if err := syscall.Kill(-p.cmd.Process.Pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		p.t.Fatalf("%s: %v", p.name, err)
	}
}

// kill ends the process as a loss of power does, and waits until it is gone.
func (p *program) kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// stop ends the process in order, and returns its exit code.
func (p *program) stop() int {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	return p.wait()
}

// wait returns the exit code once the process has ended.
func (p *program) wait() int {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("%s: got no end in %v, want one", p.name, patience)
	}
	return p.cmd.ProcessState.ExitCode()
}
