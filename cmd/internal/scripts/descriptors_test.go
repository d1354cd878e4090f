// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/internal/testkit"
	"tagbus/node"
	"tagbus/tags"
)

// Connections leave the last descriptors of a publisher to its files: it stays listed with more subscribers than it
// has descriptors for, and check says why it takes no more.
func TestAPublisherWithoutDescriptorsStaysListed(t *testing.T) {
	overTCP(t)
	for _, backend := range []string{"tcp", "shm"} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			policy := filepath.Join(t.TempDir(), "policy.json")
			testkit.Must(t, os.WriteFile(policy, []byte(`{"rules": [{"who": "anonymous", "publish": "*", "subscribe": "*", "describe": "*"}]}`), 0o600))
			p := run(t, "publisher", "sh", "-c", "ulimit -n 64 && exec publisher --backend "+backend+" --bus "+dir+" --acl "+policy+" --name pub --tags 1 --emulate 16 --rate 10")
			p.await("publisher: pub .*publishes on")
			n, err := node.Open(node.Config{Bus: dir, Backend: backend})
			testkit.Must(t, err)
			defer func() { testkit.Must(t, n.Close()) }()
			for range 64 {
				s, err := n.NewSubscriber(bus.SubscriberConfig{Dialing: bus.Dialing{Unlisted: true}})
				testkit.Must(t, err)
				_, err = s.Subscribe(tags.Of(1), func(bus.Message) {})
				testkit.Must(t, err)
			}
			p.await("listen endpoint cannot accept, and tries again and again.* err=\"too many open files\"")
			for range 3 {
				before := entryIn(t, dir)
				for begun := time.Now(); entryIn(t, dir) == before; idle(20 * time.Millisecond) {
					if time.Since(begun) > patience {
						t.Fatalf("the entry is not renewed:\n%s", p.text())
					}
				}
			}
			if line := p.find(regexpProblem); line != "" {
				t.Errorf("got %q, want no problem with its entry", line)
			}
			said := len(p.linesFrom(0))
			p.signal(syscall.SIGHUP)
			p.awaitFrom(said, "SIGHUP: .*policy .*read again")
			out, err := exec.Command("tagbus", "check", "--backend", backend, "--bus", dir, "--timeout", "10s").CombinedOutput()
			if err == nil || !strings.Contains(string(out), " of the 64 descriptors that it may have, and takes no connections") {
				t.Errorf("check: got %v, %s, want why the publisher takes no connections", err, out)
			}
		})
	}
}

// regexpProblem is a line about the entry of a publisher.
var regexpProblem = regexp.MustCompile(`problem: bus: the entry in the directory cannot be renewed`)

// entryIn returns what the only entry of a folder says, with its beats.
func entryIn(t *testing.T, dir string) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	testkit.Must(t, err)
	if len(all) != 1 {
		t.Fatalf("got entries %v, want one", all)
	}
	text, err := os.ReadFile(all[0])
	testkit.Must(t, err)
	return string(text)
}
