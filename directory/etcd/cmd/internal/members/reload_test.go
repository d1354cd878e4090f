// SPDX-License-Identifier: Apache-2.0

package members_test

import (
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tagbus/directory/etcd/cmd/internal/members"
	"tagbus/internal/testkit/pki"
)

// said is what a member says on standard error.
type said struct {
	mu   sync.Mutex
	text string
	news chan struct{} // closed at the next line
}

// Write keeps a line.
func (s *said) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text += string(line)
	close(s.news)
	s.news = make(chan struct{})
	return len(line), nil
}

// now returns all that was said, and what is closed when there is more.
func (s *said) now() (text string, news <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text, s.news
}

// raise sends a signal to the program, as kill does.
func raise(t *testing.T, s os.Signal) {
	t.Helper()
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(s)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// SIGHUP makes a member with a policy or with certificates read them again, and does not end it.
func TestSIGHUPReadsFilesAgain(t *testing.T) {
	policy := pki.Write(t, t.TempDir(), "policy.json", []byte(`{"rules": [{"who": "cn:publisher", "publish": "*"}]}`))
	certificates := certificate(t, pki.NewCA(t, "cn:ca"), "dns:directory-1")
	for _, test := range []struct {
		name, spoil string // a file that is damaged then
		flags       []string
	}{
		{"policy", policy, []string{"--acl", policy}},
		{"certificates", certificates[1], certificates},
	} {
		t.Run(test.name, func(t *testing.T) {
			hups := make(chan os.Signal, 1) // it ends no test
			signal.Notify(hups, syscall.SIGHUP)
			defer signal.Stop(hups)
			s, ended := &said{news: make(chan struct{})}, make(chan int, 1)
			go func() {
				ended <- members.Main(append(test.flags, "--data", t.TempDir(), "--listen", freeAddress(t)), members.Streams{Out: io.Discard, Err: s})
			}()
			await := func(want string) {
				t.Helper()
				late := time.After(time.Minute)
				for {
					text, news := s.now()
					if strings.Contains(text, want) {
						return
					}
					select {
					case <-news:
					case code := <-ended:
						t.Fatalf("ended with %d, want %q first; it said %s", code, want, text)
					case <-late:
						t.Errorf("got no %q within a minute; it said %s", want, text)
						return
					}
				}
			}
			await("the directory works")
			raise(t, syscall.SIGHUP)
			await("SIGHUP: certificates and policy were read again")
			pki.Write(t, filepath.Dir(test.spoil), filepath.Base(test.spoil), []byte("damaged"))
			raise(t, syscall.SIGHUP)
			await("SIGHUP: what was read before stays in use")
			raise(t, syscall.SIGTERM)
			select {
			case code := <-ended:
				if text, _ := s.now(); code != 0 {
					t.Errorf("got exit code %d, want 0; it said %s", code, text)
				}
			case <-time.After(time.Minute):
				t.Error("SIGTERM has not ended it in a minute")
			}
		})
	}
}
