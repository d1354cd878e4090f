// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// apart builds this program with a clock that is wrong by what TAGBUS_TEST_CLOCK says, and
// returns it. It is that of the wall only: no process sees the monotonic clock of another.
func apart(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it builds a program: left out with -short")
	}
	root := strings.TrimSpace(output(t, "go", "env", "GOROOT"))
	source := filepath.Join(root, "src", "time", "time.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Skipf("needs the source of Go's library: %v", err)
	}
	const now = "func Now() Time {\n"
	if strings.Count(string(text), now) != 1 {
		t.Fatalf("got a package time without %q, want one", now)
	}
	dir := t.TempDir()
	wrong := strings.Replace(string(text), now, `// wrongBy is how wrong the clock is.
var wrongBy = func() (d Duration) {
	s, _ := syscall.Getenv("TAGBUS_TEST_CLOCK")
	d, _ = ParseDuration(s)
	return d
}()

func Now() Time { return rightNow().Add(wrongBy).withMono(runtimeNano() - startNano) }

// withMono gives t another reading of the monotonic clock.
func (t Time) withMono(mono int64) Time { t.setMono(mono); return t }

func rightNow() Time {
`, 1)
	wrong = strings.Replace(wrong, "import (\n", "import (\n\t\"syscall\"\n", 1)
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: write(t, dir, "time.go", wrong)}})
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "member")
	build := exec.Command("go", "test", "-c", "-o", binary, "-overlay", write(t, dir, "overlay.json", string(overlay)), ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build with a wrong clock: %v: %s", err, out)
	}
	return binary
}

// output returns what a command prints.
func output(t *testing.T, words ...string) string {
	t.Helper()
	out, err := exec.Command(words[0], words[1:]...).Output()
	if err != nil {
		t.Skipf("needs %s: %v", words[0], err)
	}
	return string(out)
}

// write writes a file, and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The clocks of three members are hours apart, and those of clients are right. The one
// that leads is killed, so that one with another clock does.
func TestClocksAreApart(t *testing.T) {
	t.Parallel()
	all(t)
	binary := apart(t)
	site := &site{t: t}
	for i, wrong := range []string{"-3h", "0s", "48h"} {
		m := site.add([]string{"behind", "right", "ahead"}[i], "127.0.0.1:"+freePorts(t), "env", "TAGBUS_TEST_CLOCK="+wrong)
		m.binary = binary
		m.start()
	}
	if want := time.Now().UTC().Add(48 * time.Hour).Format("2006-01-02T"); !strings.Contains(site.servers[2].all(), want) {
		t.Errorf("got %s of the member ahead, want lines of %s", site.servers[2].all(), want)
	}
	s := newScene(t, site.url(), 3)
	leader := site.leader()
	leader.kill()
	s.dies()
	s.goesOn()
	s.buried(time.Time{})
	s.outlast(2)
	leader.again()
	site.leader().kill()
	s.goesOn()
	s.outlast(2)
	s.allLive()
	s.end()
}

// The clocks of three members that count since the start of the host are days apart.
func TestHostsWereStartedDaysApart(t *testing.T) {
	t.Parallel()
	all(t)
	if out, err := exec.Command("unshare", "--time", "--monotonic", "1", "true").CombinedOutput(); err != nil {
		t.Skipf("needs root and unshare with namespaces of time: %v: %s", err, out)
	}
	site := &site{t: t}
	for i, since := range []string{"0", "86400", "8640000"} {
		site.add([]string{"new", "day", "old"}[i], "127.0.0.1:"+freePorts(t),
			"unshare", "--time", "--monotonic", since, "--boottime", since, "--").start()
	}
	s := newScene(t, site.url(), 3)
	leader := site.leader()
	leader.kill()
	s.dies()
	s.goesOn()
	s.buried(time.Time{})
	leader.again()
	site.leader().kill()
	s.goesOn()
	s.outlast(2)
	s.allLive()
	s.end()
}
