// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/stuck"
)

// awayServers is a directory whose servers answer a look after some time.
type awayServers struct {
	directory.Directory
	after time.Duration
	looks int
}

func (a *awayServers) List() ([]directory.Entry, error) {
	a.looks++
	time.Sleep(a.after)
	return []directory.Entry{{Instance: "i"}}, nil
}

func TestALookAtServersEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := &awayServers{after: 5 * time.Second}
		d := tool.Bounded(servers, "etcd://a/x", 2*time.Second)
		for n := range 2 { // the second one waits for what the first one has given up
			start := time.Now()
			entries, err := d.List()
			if !errors.Is(err, tool.ErrSilent) || len(entries) != 0 || time.Since(start) != 2*time.Second {
				t.Errorf("look %d: got %v and %v after %v, want ErrSilent after 2s", n, entries, err, time.Since(start))
			}
			if want := "etcd://a/x does not answer in 2s (--timeout): "; err != nil && !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %q, want %q in front", err, want)
			}
		}
		if entries, err := d.List(); len(entries) != 1 || err != nil || servers.looks != 1 {
			t.Errorf("got %v, %v and %d looks, want the entries of the first look", entries, err, servers.looks)
		}
		servers.after = 0
		if entries, err := d.List(); len(entries) != 1 || err != nil || servers.looks != 2 {
			t.Errorf("got %v, %v and %d looks, want those of another one", entries, err, servers.looks)
		}
	})
}

// TestAFileThatDoesNotAnswerIsNoServer: of etcds:// with ca=FILE on a mount that hangs the servers were blamed.
func TestAFileThatDoesNotAnswerIsNoServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := tool.Bounded(&awayServers{after: 5 * time.Second}, "etcds://a/x?ca=/mnt/ca.pem", 2*time.Second)
		over := stuck.On("/mnt/ca.pem")
		_, err := d.List()
		const want = "etcds://a/x?ca=/mnt/ca.pem was not asked in 2s (--timeout): waiting for /mnt/ca.pem: its file system does not answer"
		if silent := (*tool.FileSilentError)(nil); !errors.Is(err, tool.ErrSilent) || !errors.As(err, &silent) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		over()
		time.Sleep(2 * time.Second) // and then the servers do not
		if _, err := d.List(); err != nil {
			t.Errorf("got %v from the look that was given up, want nil", err)
		}
		if _, err := d.List(); err == nil || !strings.HasPrefix(err.Error(), "etcds://a/x?ca=/mnt/ca.pem does not answer in 2s") {
			t.Errorf("got %v, want that the servers do not answer", err)
		}
		time.Sleep(5 * time.Second) // the last look ends
	})
}

func TestTheBusOfACommandLine(t *testing.T) {
	f := &tool.Flags{Bus: "etcd://a/x"}
	if got := f.BusOf(nil); got != f.Bus {
		t.Errorf("a command with a bus: got %q", got)
	}
	if got := f.BusOf(busless(false)); got != "" {
		t.Errorf("a command without: got %q", got)
	}
	if got := f.BusOf(busless(true)); got != f.Bus {
		t.Errorf("a command with one if there is one: got %q", got)
	}
	e := &tool.Env{Flags: &tool.Flags{Bus: "bus"}}
	if missing := (*tool.MissingError)(nil); !errors.As(e.Problem(&file.PathError{Err: file.ErrVanished}), &missing) || missing.Bus != "bus" {
		t.Error("a folder that is not there is no MissingError")
	}
}

// busless needs no bus, and uses one if it is true.
type busless bool

func (busless) NeedsBus() bool  { return false }
func (b busless) UsesBus() bool { return bool(b) }
