// SPDX-License-Identifier: Apache-2.0

package filewatch_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/internal/filewatch"
	"tagbus/internal/stuck"
)

// number makes a number of a file.
func number(files []filewatch.File) (int, error) { return strconv.Atoi(string(files[0].Data)) }

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAFileThatCannotBeUsedChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "n")
		write(t, path, "1")
		var mu sync.Mutex
		var said []string
		say := func(text string) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, text)
		}
		k, err := filewatch.Open(filewatch.Config[int]{
			Paths: []string{path}, MaxBytes: 10, Every: 10 * time.Second, Make: number,
			Loaded: func(n int) { say(fmt.Sprint("loaded ", n)) },
			Failed: func(error) { say("failed") },
		})
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		next := func(text string, want int, news ...string) {
			t.Helper()
			if text == "" {
				err = os.Remove(path)
			} else {
				write(t, path, text)
			}
			if time.Sleep(10 * time.Second); err != nil {
				t.Fatal(err)
			}
			if synctest.Wait(); k.Current() != want {
				t.Errorf("%q: got %d, want %d", text, k.Current(), want)
			}
			mu.Lock()
			defer mu.Unlock()
			if diff := cmp.Diff(news, said); diff != "" {
				t.Errorf("%q: reports (-want +got):\n%s", text, diff)
			}
			said = nil
		}
		next("1", 1)
		next("2", 2, "loaded 2")
		next("two", 2, "failed")
		next("two", 2)
		next("2 two", 2, "failed") // another error
		next("", 2, "failed")
		next("2", 2)
		next("two", 2, "failed")
		next("3", 3, "loaded 3")
		next("12345678901", 3, "failed")
	})
}

func TestReload(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	write(t, path, "1")
	looks := 0
	k, err := filewatch.Open(filewatch.Config[int]{Paths: []string{path}, MaxBytes: 10, Make: number, Looked: func(int) { looks++ }})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	write(t, path, "2")
	if err := k.Reload(); err != nil || k.Current() != 2 || looks != 1 {
		t.Errorf("got %v and %d after %d looks, want 2 after one", err, k.Current(), looks)
	}
	write(t, path, "12345678901")
	var size *filewatch.SizeError
	if err := k.Reload(); !errors.As(err, &size) || size.Path != path || size.Limit != 10 || k.Current() != 2 {
		t.Errorf("got %v and %d, want a SizeError and 2", err, k.Current())
	}
}

// A look that the file system does not answer fails before it returns, which it may never do.
func TestAFileSystemThatDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
		write(t, a, "1")
		write(t, b, "2")
		k, err := filewatch.Open(filewatch.Config[int]{Paths: []string{a, b}, MaxBytes: 10, Make: number})
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		for path, want := range map[string]bool{a: true, b: true, filepath.Join(dir, "another"): false} {
			over := stuck.Aside(path) // as a look waits
			if time.Sleep(stuck.Patience - 1); k.Failing() {
				t.Errorf("%s: got that the look fails before it is late", path)
			}
			time.Sleep(2 * time.Nanosecond)
			if synctest.Wait(); k.Failing() != want {
				t.Errorf("%s: got failing %t, want %t", path, k.Failing(), want)
			}
			if over(); k.Failing() {
				t.Errorf("%s: got that the look fails after it was answered", path)
			}
		}
	})
}

func TestOpenFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "n")
	c := filewatch.Config[int]{Paths: []string{path}, MaxBytes: 10, Make: number}
	if _, err := filewatch.Open(c); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want that there is no such file", err)
	}
	write(t, path, "one")
	if _, err := filewatch.Open(c); !errors.Is(err, strconv.ErrSyntax) {
		t.Errorf("got %v, want that it is no number", err)
	}
}
