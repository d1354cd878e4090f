// SPDX-License-Identifier: Apache-2.0

package stuck

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestAnOutputThatTakesNothing ends the program after a signal, once that has lasted. Of a pipe nothing is said before.
func TestAnOutputThatTakesNothing(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer pipe.Close()
	for _, test := range []struct {
		name   string
		to     *os.File
		said   string
		ended  time.Duration // 0: not
		ending string
	}{
		{"a file", file, "waiting for output: its file system does not answer", 5 * time.Second, "waiting for output: its file system does not answer"},
		{"a pipe", pipe, "", 5 * time.Second, "output has taken nothing for 5s"},
		{"nothing of the system", nil, "", 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, said, ended, ending := time.Now(), "", time.Duration(0), ""
				process.say = func(n Note) {
					if n.Took == 0 {
						said = n.Text()
					}
				}
				defer func() { process.say = nil }()
				process.mu.Lock()
				clear(process.back) // by the clock of another test
				process.mu.Unlock()
				ctx, cancel := context.WithCancel(t.Context())
				defer Follow(ctx, t.Context(), func(n Note) { ended, ending = time.Since(began), n.Text() })()
				time.AfterFunc(5*time.Second, cancel)
				failed := errors.New("failed")
				n, err := NewOutput(test.to, "output").Write(func() (int, error) {
					time.Sleep(time.Minute)
					return 7, failed
				})
				synctest.Wait()
				if n != 7 || !errors.Is(err, failed) || said != test.said || ended != test.ended || ending != test.ending {
					t.Errorf("got %d, %v, said %q, ended after %v by %q; want 7, %v, %q, %v, %q", n, err, said, ended, ending, failed, test.said, test.ended, test.ending)
				}
			})
		})
	}
}

// TestAPipeThatIsReadSlowly is waited for after a signal as long as each write returns in time.
func TestAPipeThatIsReadSlowly(t *testing.T) {
	r, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer pipe.Close()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		hurry, again := context.WithCancel(t.Context())
		defer Follow(ctx, hurry, func(n Note) { t.Errorf("ended by %q, want it to go on", n.Text()) })()
		o := NewOutput(pipe, "output")
		time.AfterFunc(time.Second, cancel)
		time.AfterFunc(3*time.Second, again)
		for range 10 {
			if _, err := o.Write(func() (int, error) { time.Sleep(Patience - 1); return 0, nil }); err != nil {
				t.Error(err)
			}
			if n, waits := Waiting(); waits {
				t.Errorf("got %q waited for, want nothing", n.Text())
			}
		}
	})
}
