// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit"
)

// program is a publisher or subscriber that a test in Go runs as a process.
type program struct {
	*process
	tb   testing.TB
	name string
	out  bytes.Buffer
}

// notShort skips a test that needs several processes to keep up with each other.
func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out with -short: it takes a machine that keeps up")
	}
}

// run starts a command. It is killed at the end of the test, if it still runs.
func run(tb testing.TB, name string, args ...string) *program {
	tb.Helper()
	p := &program{
		process: &process{cmd: exec.Command(args[0], args[1:]...), ended: make(chan struct{}), changed: make(chan struct{})},
		tb:      tb, name: name,
	}
	p.cmd.Env = append(os.Environ(), "GORACE="+raceOptions)
	p.cmd.Stdout = &p.out
	stderr, err := p.cmd.StderrPipe()
	testkit.Must(tb, err)
	testkit.Must(tb, p.cmd.Start())
	go p.follow(stderr)
	tb.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended
		<-p.ended
		if tb.Failed() {
			tb.Logf("[%s]\n%s", name, p.text())
		}
	})
	return p
}

// await waits until the process has written a line that matches, and returns it.
func (p *program) await(pattern string) string {
	p.tb.Helper()
	return p.awaitFrom(0, pattern)
}

// awaitFrom is await among the lines from the nth on.
func (p *program) awaitFrom(n int, pattern string) string {
	p.tb.Helper()
	re := regexp.MustCompile(pattern)
	timeout := time.After(patience)
	for {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		if line := p.findFrom(n, re); line != "" {
			return line
		}
		select {
		case <-changed:
		case <-p.ended:
			if line := p.findFrom(n, re); line != "" {
				return line
			}
			p.tb.Fatalf("%s ended without a line that matches %s", p.name, pattern)
		case <-timeout:
			p.tb.Fatalf("%s: no line matches %s after %v", p.name, pattern, patience)
		}
	}
}

func (p *program) signal(s syscall.Signal) {
	p.tb.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.tb.Fatalf("%s: %v", p.name, err)
	}
	if s == syscall.SIGSTOP { // it does not stop before it is next scheduled
		if err := unix.Waitid(unix.P_PID, p.cmd.Process.Pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil); err != nil {
			p.tb.Fatalf("%s: %v", p.name, err)
		}
	}
}

// finish waits for the end of the process and compares its exit status.
func (p *program) finish(statuses ...int) {
	p.tb.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.tb.Fatalf("%s did not end within %v", p.name, patience)
	}
	if got := p.cmd.ProcessState.ExitCode(); !slices.Contains(statuses, got) {
		p.tb.Fatalf("%s: got exit status %d, want one of %v", p.name, got, statuses)
	}
}

// summary reads what --json has printed.
func (p *program) summary(to any) {
	p.tb.Helper()
	if err := json.Unmarshal(p.out.Bytes(), to); err != nil {
		p.tb.Fatalf("%s: %v in %q", p.name, err, p.out.String())
	}
}

// linesFrom returns the lines from the nth on.
func (p *program) linesFrom(n int) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.lines[min(n, len(p.lines)):]...)
}

// metric returns the value of a metric without labels.
func (p *program) metric(name string) float64 {
	p.tb.Helper()
	for begun := time.Now(); time.Since(begun) < patience; idle(20 * time.Millisecond) {
		if value, ok := p.scraped(name); ok {
			return value
		}
	}
	p.tb.Fatalf("%s: no metric %s", p.name, name)
	return 0
}

// scraped returns the value of a metric, if it is there: a program serves its own metrics a
// moment after those of its process.
func (p *program) scraped(name string) (value float64, ok bool) {
	p.tb.Helper()
	url := metricsLine.FindStringSubmatch(p.await(metricsLine.String()))[1]
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: patience}
	response, err := client.Get(url)
	testkit.Must(p.tb, err)
	defer response.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(response.Body); err != nil {
		p.tb.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			testkit.Must(p.tb, err)
			return f, true
		}
	}
	return 0, false
}

// residentBytes returns how much memory the process has.
func (p *program) residentBytes() int64 {
	p.tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	testkit.Must(p.tb, err)
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		p.tb.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}

// idle waits; the processes go on.
func idle(d time.Duration) { <-time.After(d) }
