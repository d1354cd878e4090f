// SPDX-License-Identifier: Apache-2.0

package directory_test

import (
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/directorytest"
	"tagbus/bus/directory/file"
	"tagbus/bus/directory/memory"
)

// backends are held to the contract.
var backends = []struct {
	name string
	open func(*testing.T) (d directory.Opened, storage storage)
}{
	{"memory", func(*testing.T) (directory.Opened, storage) {
		d := memory.New()
		return d, memoryStorage{d}
	}},
	{"file", func(t *testing.T) (directory.Opened, storage) {
		t.Helper()
		return openFile(t, file.Config{Beat: 20 * time.Millisecond, Poll: 20 * time.Millisecond})
	}},
	{"file without notifications", func(t *testing.T) (directory.Opened, storage) {
		t.Helper()
		return openFile(t, file.Config{Beat: 20 * time.Millisecond, Poll: 20 * time.Millisecond, PollOnly: true})
	}},
}

func openFile(t *testing.T, config file.Config) (directory.Opened, storage) {
	t.Helper()
	folder := t.TempDir()
	d, err := file.Open(folder, config)
	if err != nil {
		t.Fatal(err)
	}
	return d, fileStorage(folder)
}

func TestFeed_conformance(t *testing.T) {
	for _, backend := range backends {
		t.Run(backend.name, func(t *testing.T) {
			directorytest.Run(t, func(t *testing.T) directory.Opened {
				t.Helper()
				d, _ := backend.open(t)
				return d
			})
		})
	}
}

// TestFeed_crowded: of the kinds here only the folder follows a number of entries alone.
func TestFeed_crowded(t *testing.T) {
	t.Parallel() // it waits for the folder to be looked at
	directorytest.RunCrowded(t, func(t *testing.T, room int) func() directory.Opened {
		t.Helper()
		folder := t.TempDir()
		return func() directory.Opened {
			d, err := file.Open(folder, file.Config{
				Beat: 100 * time.Millisecond, Poll: 100 * time.Millisecond, CollectAfter: 20 * time.Second, MaxFiles: room,
			})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
	})
}
