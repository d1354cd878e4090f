// SPDX-License-Identifier: Apache-2.0

package cmd_test

import (
	"bufio"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"tagbus/internal/testkit"
)

// patience is how long a test waits for anything.
const patience = time.Minute

// folder is where the programs are; built makes them for the first test that needs them.
var (
	folder string
	built  = sync.OnceValues(func() ([]byte, error) {
		testkit.DependsOnTree()
		return exec.Command("go", "build", "-o", folder+"/", "./publisher-etcd", "./subscriber-etcd", "./tagbus-etcd",
			"tagbus/cmd/publisher", "tagbus/cmd/subscriber", "tagbus/cmd/tagbus").CombinedOutput()
	})
)

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "tagbus-etcd-"); err != nil {
		panic(err)
	}
	status := m.Run()
	_ = os.RemoveAll(folder) // the system does it otherwise
	os.Exit(status)
}

// programs returns the folder of the programs.
func programs(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("left out with -short: it builds six programs")
	}
	if out, err := built(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return folder
}

// environment returns that of the programs: of this process, without flags and proxies.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "TAGBUS_") || strings.HasSuffix(strings.ToLower(name), "_proxy")
	})
}

// process is a program that runs. It is killed at the end of the test.
type process struct {
	t       *testing.T
	name    string
	command *exec.Cmd
	lines   chan string // of standard error; closed at its end
	seen    []string
}

func start(t *testing.T, program string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: program, command: exec.CommandContext(t.Context(), filepath.Join(programs(t), program), args...), lines: make(chan string, 1000)}
	p.command.Env = environment()
	errs, err := p.command.StderrPipe()
	if err == nil {
		err = p.command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(p.lines)
		for scanner := bufio.NewScanner(errs); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
		_, _ = io.Copy(io.Discard, errs)
	}()
	t.Cleanup(func() {
		_ = p.command.Process.Kill() // it may have ended
		for range p.lines {
		}
		<-ended
		_ = p.command.Wait() // the state tells
	})
	return p
}

// expect waits for a line that matches, unless there was one, and returns what its groups
// do.
func (p *process) expect(pattern string) []string {
	p.t.Helper()
	re := regexp.MustCompile(pattern)
	for _, line := range p.seen {
		if groups := re.FindStringSubmatch(line); groups != nil {
			return groups
		}
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case line, more := <-p.lines:
			p.seen = append(p.seen, line)
			if groups := re.FindStringSubmatch(line); groups != nil {
				return groups
			}
			if !more {
				p.t.Fatalf("%s: got\n%s\nand its end, want a line that matches %s", p.name, strings.Join(p.seen, "\n"), pattern)
			}
		case <-timer.C:
			p.t.Fatalf("%s: got\n%s\nwant a line that matches %s", p.name, strings.Join(p.seen, "\n"), pattern)
		}
	}
}

// end waits for the end of the process.
func (p *process) end(status int) {
	p.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = p.command.Process.Kill() })
	defer timer.Stop()
	for line := range p.lines {
		p.seen = append(p.seen, line)
	}
	_ = p.command.Wait() // the state tells
	if got := p.command.ProcessState.ExitCode(); got != status {
		p.t.Fatalf("%s: got status %d and\n%s\nwant status %d", p.name, got, strings.Join(p.seen, "\n"), status)
	}
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.command.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) pid() string { return strconv.Itoa(p.command.Process.Pid) }

// server is a server of etcd in the process of the test.
type server struct {
	t    *testing.T
	addr string
}

// newServer returns one that does not run yet, at an address where nothing listens.
func newServer(t *testing.T) *server {
	t.Helper()
	for range 100 {
		// One that the system gives to none that asks for any: a server may be started late.
		addr := "127.0.0.1:" + strconv.Itoa(30_000+rand.IntN(2_500))
		if listener, err := net.Listen("tcp", addr); err == nil {
			_ = listener.Close()
			return &server{t, addr}
		}
	}
	t.Fatal("got no port that is free, want one")
	return nil
}

func startServer(t *testing.T) *server {
	t.Helper()
	s := newServer(t)
	s.run()
	return s
}

// bus is the --bus of the programs.
func (s *server) bus() string { return "etcd://" + s.addr + "/demo" }

// run starts the server. It ends with the test.
func (s *server) run() {
	s.t.Helper()
	c := embed.NewConfig()
	c.Name, c.Dir = "m", s.t.TempDir()
	peer, client := url.URL{Scheme: "http", Host: "127.0.0.1:0"}, url.URL{Scheme: "http", Host: s.addr}
	c.ListenPeerUrls, c.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	c.ListenClientUrls, c.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	c.InitialCluster = c.InitialClusterFromName(c.Name)
	c.TickMs, c.ElectionMs, c.UnsafeNoFsync = 10, 100, true
	c.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	e, err := embed.StartEtcd(c)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(e.Close)
	select {
	case <-e.Server.ReadyNotify():
	case <-time.After(patience):
		s.t.Fatal("got no server that is ready, want one")
	}
}
