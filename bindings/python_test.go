// SPDX-License-Identifier: Apache-2.0

package bindings_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/clib"
)

// interpreter is that of Debian, whose packages scripts/setup.sh installs.
const interpreter = "/usr/bin/python3"

// python returns the examples in Python, if what they need is there: each in a process of its own with
// TAGBUS_TESTS=all, else one after another in few, as Python takes longer to start than they to run.
func python(t *testing.T, lib string) (language, bool) {
	t.Helper()
	dir := filepath.Join(clib.Root(t), "bindings", "python")
	if exec.Command(interpreter, "-c", "import cffi").Run() != nil {
		t.Run("python", func(t *testing.T) { t.Skip("needs cffi (Debian: python3-cffi)") })
		return language{}, false
	}
	env := []string{
		"PYTHONPATH=" + dir + ":" + filepath.Join(dir, "examples"),
		"TAGBUS_LIB=" + filepath.Join(lib, "libtagbus.so.0"), "LD_LIBRARY_PATH=" + lib, "PYTHONDONTWRITEBYTECODE=1",
	}
	l := language{name: "python", env: env, start: func(example string) []string {
		return []string{interpreter, filepath.Join(dir, "examples", example+".py")}
	}}
	if !testkit.All() {
		l.kept = &workers{env: env}
		t.Cleanup(l.kept.stop)
	}
	return l, true
}

// workers are processes of Python that run one example after another.
type workers struct {
	env []string

	mu   sync.Mutex
	free []*worker
}

// worker is one of them.
type worker struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	err bytes.Buffer
}

// begin has a worker that is free, or a new one, run an example.
func (w *workers) begin(t *testing.T, example string, args []string) running {
	t.Helper()
	one := w.take(t)
	line, err := json.Marshal(append([]string{example}, args...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.in.Write(append(line, '\n')); err != nil {
		t.Fatalf("%v\n%s", err, one.err.String())
	}
	return &job{w, one, string(line)}
}

func (w *workers) take(t *testing.T) *worker {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if last := len(w.free) - 1; last >= 0 {
		one := w.free[last]
		w.free = w.free[:last]
		return one
	}
	one := &worker{cmd: exec.Command(interpreter, filepath.Join(clib.Root(t), "bindings", "testdata", "examples.py"))}
	one.cmd.Env = append(os.Environ(), w.env...)
	one.cmd.Stderr = &one.err
	in, errIn := one.cmd.StdinPipe()
	out, errOut := one.cmd.StdoutPipe()
	if errIn != nil || errOut != nil {
		t.Fatal(errIn, errOut)
	}
	one.in, one.out = in, bufio.NewReader(out)
	if err := one.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return one
}

// stop ends those that are free.
func (w *workers) stop() {
	for _, one := range w.free {
		_ = one.in.Close()
		_ = one.cmd.Wait()
	}
}

// job is an example that a worker runs.
type job struct {
	all  *workers
	one  *worker
	line string
}

func (j *job) ends(t *testing.T, want string) {
	t.Helper()
	limit := time.AfterFunc(2*time.Minute, func() { _ = j.one.cmd.Process.Kill() })
	defer limit.Stop()
	var said strings.Builder
	for {
		line, err := j.one.out.ReadString('\n')
		if err != nil || line == "status 1\n" {
			_ = j.one.cmd.Process.Kill()
			_ = j.one.cmd.Wait()
			t.Errorf("%s: got %q, and %v\n%s", j.line, said.String(), err, j.one.err.String())
			return
		}
		if line == "status 0\n" {
			break
		}
		said.WriteString(line)
	}
	if said.String() != want {
		t.Errorf("%s: got %q, want %q", j.line, said.String(), want)
	}
	j.all.mu.Lock()
	defer j.all.mu.Unlock()
	j.all.free = append(j.all.free, j.one)
}
