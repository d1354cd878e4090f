// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/file"
)

var stirs atomic.Int64

// stir gives a folder that was changed a time that it did not have before: that of the file system may be the
// same for some milliseconds, in which a bubble has minutes.
func stir(t *testing.T, folder string) {
	t.Helper()
	at := time.Unix(1e9+stirs.Add(1), 0)
	if err := os.Chtimes(folder, at, at); err != nil {
		t.Fatal(err)
	}
}

// crowd writes the files of programs that may live, and beat seldom.
func crowd(t *testing.T, folder string, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		foreign(t, folder, fmt.Sprintf("other%03d", i), time.Hour, 1)
	}
	stir(t, folder)
}

// disperse removes them.
func disperse(t *testing.T, folder string, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if err := os.Remove(filepath.Join(folder, fmt.Sprintf("other%03d.jsonl", i))); err != nil {
			t.Fatal(err)
		}
	}
	stir(t, folder)
}

// crowds returns a log of what a registration is told: when that was, in whole seconds, and
// whether there are too many.
func crowds(r directory.Registration) func() []string {
	var mu sync.Mutex
	var told []string
	start := time.Now()
	r.(directory.Reporter).OnProblem(func(err error) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, fmt.Sprint(time.Since(start).Round(time.Second), " ", errors.Is(err, directory.ErrCrowded)))
	})
	return func() []string {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		defer func() { told = nil }()
		return told
	}
}

// few is the configuration of a directory that has room for ten.
func few(config file.Config) file.Config {
	config.MaxFiles = 10
	return config
}

// A publisher that watches nothing was told minutes after others had filled the folder, and
// with a large Config.CollectAfter never. It is told soon, once, and soon when it is over.
func TestDirectory_aPublisherThatWasThereBeforeIsTold(t *testing.T) {
	for name, config := range map[string]file.Config{"as it is": {}, "by looks alone": {PollOnly: true}, "where files stay": {CollectAfter: 24 * time.Hour}} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				d := open(t, folder, few(config))
				told := crowds(announce(t, d, entry("own", 1)))
				time.Sleep(time.Hour)
				crowd(t, folder, 0, 9)
				time.Sleep(time.Minute)
				if got := told(); len(got) > 0 {
					t.Fatalf("with ten entries: got %q, want nothing", got)
				}
				for range 2 {
					crowd(t, folder, 9, 12)
					time.Sleep(12 * time.Second)
					if got := told(); len(got) != 1 || got[0][len(got[0])-5:] != " true" {
						t.Fatalf("12s after the eleventh: got %q, want that there are too many", got)
					}
					time.Sleep(10 * time.Minute)
					disperse(t, folder, 9, 12)
					time.Sleep(12 * time.Second)
					if got := told(); len(got) != 1 || got[0][len(got[0])-5:] != "false" {
						t.Fatalf("12s after they went: got %q, want that it is over", got)
					}
					time.Sleep(2 * time.Minute)
				}
			})
		})
	}
}

// More names than are looked at are too many, whatever they are.
func TestDirectory_aPublisherIsToldOfNamesThatAreTooMany(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		told := crowds(announce(t, open(t, folder, few(file.Config{})), entry("own", 1)))
		time.Sleep(time.Minute)
		for i := range 16 * 10 {
			write(t, folder, fmt.Sprintf("note%d.txt", i), nil)
		}
		stir(t, folder)
		time.Sleep(12 * time.Second)
		if got := told(); len(got) != 1 || got[0][len(got[0])-5:] != " true" {
			t.Fatalf("got %q, want that there are too many", got)
		}
		for i := range 16 * 10 {
			if err := os.Remove(filepath.Join(folder, fmt.Sprintf("note%d.txt", i))); err != nil {
				t.Fatal(err)
			}
		}
		stir(t, folder)
		time.Sleep(12 * time.Second)
		if got := told(); len(got) != 1 || got[0][len(got[0])-5:] != "false" {
			t.Fatalf("got %q, want that it is over", got)
		}
	})
}

// Files of processes that are known to have ended keep none from being found.
func TestDirectory_aPublisherIsNotToldOfTheDead(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		told := crowds(announce(t, open(t, folder, few(file.Config{})), entry("own", 1)))
		time.Sleep(time.Minute)
		dead := file.ThisProcess()
		dead.PID, dead.Start = 1<<22+1, 1 // no process has it
		for i := range 30 {
			instance := fmt.Sprint("dead", i)
			data, err := file.Encode(entry(instance, 1), 1, time.Second, dead, 1)
			if err != nil {
				t.Fatal(err)
			}
			write(t, folder, instance+".jsonl", data)
		}
		time.Sleep(5 * time.Minute)
		if got := told(); len(got) > 0 {
			t.Errorf("got %q, want nothing", got)
		}
	})
}

// The names of a folder are read when it has changed, and the files of one that is crowded
// seldom, however often it changes.
func TestDirectory_aPublisherCountsNamesAtASlowPace(t *testing.T) {
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var lists, reads atomic.Int64
		config := few(file.Config{}).WithPauses(func(step string) {
			switch step {
			case "list":
				lists.Add(1)
			case "read":
				reads.Add(1)
			}
		})
		announce(t, open(t, folder, config), entry("own", 1))
		minute := func() (l, r int64) {
			lists.Store(0)
			reads.Store(0)
			time.Sleep(10 * time.Minute)
			return lists.Load() / 10, reads.Load() / 10
		}
		time.Sleep(time.Minute)
		if l, r := minute(); l > 2 || r > 2 {
			t.Errorf("nothing happens: got %d listings and %d reads a minute, want less than one", l, r)
		}
		crowd(t, folder, 0, 20)
		if l, r := minute(); l > 6 || r > 30 {
			t.Errorf("crowded: got %d listings and %d reads a minute, want a look in some minutes", l, r)
		}
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(time.Second):
				}
				write(t, folder, "note.txt", nil)
				_ = os.Remove(filepath.Join(folder, "note.txt"))
			}
		}()
		if l, r := minute(); l > 24 || r > 60 {
			t.Errorf("crowded and restless: got %d listings and %d reads a minute, want six listings of three steps, and a look", l, r)
		}
		close(stop)
		<-stopped
	})
}

// Clients look at no files of others. They count the names with some of their beats, and those
// of the dead do not count.
func TestDirectory_Clients_areToldOfTooMany(t *testing.T) {
	folder := t.TempDir()
	clients := filepath.Join(folder, "clients")
	synctest.Test(t, func(t *testing.T) {
		defer file.SetMaxClients(10)()
		d := open(t, folder, few(file.Config{}))
		first, err := d.Clients().Announce(directorytest.Client("first"))
		if err != nil {
			t.Fatal(err)
		}
		told := crowds(first)
		time.Sleep(time.Hour)
		info, err := os.Stat(filepath.Join(clients, "first.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		ago := info.ModTime().Add(-time.Hour) // times of files are not those of the bubble
		for i := range 20 {
			foreign(t, clients, fmt.Sprint("left", i), time.Minute, 1)
			written(t, clients, fmt.Sprintf("left%d.jsonl", i), ago)
		}
		crowd(t, clients, 0, 9)
		time.Sleep(time.Hour)
		if got := told(); len(got) > 0 {
			t.Fatalf("with ten that live: got %q, want nothing", got)
		}
		crowd(t, clients, 9, 10)
		time.Sleep(20 * time.Minute)
		if got := told(); len(got) != 1 || got[0][len(got[0])-5:] != " true" {
			t.Fatalf("with eleven: got %q, want that there are too many", got)
		}
		next, err := d.Clients().Announce(directorytest.Client("next"))
		if err != nil {
			t.Fatal(err)
		}
		if got := crowds(next)(); !slices.Equal(got, []string{"0s true"}) {
			t.Errorf("a client that starts: got %q, want that there are too many", got)
		}
		if err := next.Withdraw(); err != nil {
			t.Fatal(err)
		}
		for i := range 5 {
			written(t, clients, fmt.Sprintf("other%03d.jsonl", i), ago)
		}
		time.Sleep(20 * time.Minute)
		if got := told(); len(got) != 1 || got[0][len(got[0])-5:] != "false" {
			t.Fatalf("with six: got %q, want that it is over", got)
		}
	})
}
