// SPDX-License-Identifier: Apache-2.0

package moving_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long the test waits for what must come.
const patience = 60 * time.Second

// program is a process of the test. Its lines are kept.
type program struct {
	t     *testing.T
	name  string
	cmd   *exec.Cmd
	ended chan struct{} // closed once the process is gone and all lines are kept
	err   error         // how it ended; set before that

	mu    sync.Mutex
	lines []string
	news  chan struct{} // closed at the next line
}

// launch runs this binary as a program. It is killed at the end of the test.
func launch(t *testing.T, name, as string, args ...string) *program {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, name: name, cmd: exec.Command(self, args...), ended: make(chan struct{}), news: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), mode+"="+as)
	out, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.read(out)
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s said:\n%s\n(%v)", name, strings.Join(p.lines, "\n"), p.err)
		}
	})
	return p
}

// read keeps all lines until the end.
func (p *program) read(from io.Reader) {
	for scanner := bufio.NewScanner(from); scanner.Scan(); {
		p.mu.Lock()
		p.lines = append(p.lines, scanner.Text())
		close(p.news)
		p.news = make(chan struct{})
		p.mu.Unlock()
	}
}

// await returns once a line has a text in it.
func (p *program) await(text string) {
	p.t.Helper()
	late := time.After(patience)
	for {
		p.mu.Lock()
		found, news := strings.Contains(strings.Join(p.lines, "\n"), text), p.news
		p.mu.Unlock()
		if found {
			return
		}
		select {
		case <-news:
		case <-p.ended:
			p.t.Fatalf("%s has ended without %q: %v", p.name, text, p.err)
		case <-late:
			p.t.Fatalf("%s: got no %q in %v, want it", p.name, text, patience)
		}
	}
}

// done waits for the end of the program, which must be one without failure, and with a last
// line that matches.
func (p *program) done(summary string) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("%s has not ended in %v", p.name, patience)
	}
	if p.err != nil || len(p.lines) == 0 || !regexp.MustCompile(summary).MatchString(p.lines[len(p.lines)-1]) {
		p.t.Fatalf("%s: got %v, want an end without failure, and %q", p.name, p.err, summary)
	}
}

func (p *program) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%s: %v", p.name, err)
	}
}

// kill ends the process as a loss of power does, and waits until it is gone.
func (p *program) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}
