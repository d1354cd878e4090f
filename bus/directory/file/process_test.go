// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/internal/testkit"
)

// endedOnce runs a process to its end.
var endedOnce = sync.OnceValues(func() (file.Process, error) {
	command := exec.Command(os.Args[0], "-test.run=^$")
	err := command.Run()
	p := file.ThisProcess()
	p.PID, p.Start = command.Process.Pid, p.Start+1
	return p, err
})

// endedProcess returns a process of this kernel that has ended.
func endedProcess(t *testing.T) file.Process {
	t.Helper()
	p, err := endedOnce()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestDirectory_whenAProcessHasEnded(t *testing.T) {
	own := file.ThisProcess()
	if own.Space == "" {
		t.Skip("needs a /proc that shows this process")
	}
	ended := endedProcess(t)
	change := func(p file.Process, f func(*file.Process)) file.Process {
		f(&p)
		return p
	}
	tests := []struct {
		name    string
		process file.Process
		want    bool
	}{
		{"this process", own, false},
		{"a process that was waited for", ended, true},
		{"the same in another kernel or namespace", change(ended, func(p *file.Process) { p.Space += "x" }), false},
		{"another process that had this one's id", change(own, func(p *file.Process) { p.Start++ }), true},
		{"no process", file.Process{}, false},
		{"process id 0", change(own, func(p *file.Process) { p.PID = 0 }), false},
		{"a process group", change(own, func(p *file.Process) { p.PID = -1 }), false},
		{"a process without a space", change(ended, func(p *file.Process) { p.Space = "" }), false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := file.Ended(test.process); got != test.want {
				t.Errorf("got ended %t for %+v, want %t", got, test.process, test.want)
			}
		})
	}
}

// startPublisher runs a publisher as another process, which is killed at the end of the test.
func startPublisher(t *testing.T, folder string, env ...string) *os.Process {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(append(os.Environ(), announceIn+"="+folder), env...)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // says that it was killed
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "<nil>\n" {
		t.Fatalf("got %q, %v from the publisher, want <nil>", line, err)
	}
	return command.Process
}

// TestDirectory_aMainThreadThatHasEnded makes a zombie of the first thread of a process, whose other ones
// go on. It has ended when they have, too.
func TestDirectory_aMainThreadThatHasEnded(t *testing.T) {
	if file.ThisProcess().Space == "" {
		t.Skip("needs a /proc that shows this process")
	}
	publisher := startPublisher(t, t.TempDir(), endMainThread+"=1")
	until := func(what string, reached func() bool) {
		t.Helper()
		late := time.After(patience)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for !reached() {
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("got no %s, want it", what)
			}
		}
	}
	until("main thread that has ended", func() bool {
		stat := read(t, fmt.Sprintf("/proc/%d", publisher.Pid), "stat")
		return bytes.HasPrefix(stat[bytes.LastIndexByte(stat, ')'):], []byte(") Z "))
	})
	p, ok := file.ProcessOf(publisher.Pid)
	if !ok || file.Ended(p) {
		t.Errorf("got %t, and ended %t, of %+v, want a process that goes on", ok, file.Ended(p), p)
	}
	testkit.Must(t, publisher.Kill())
	until("end of the process", func() bool { return file.Ended(p) })
}

// TestDirectory_killedPublisher kills a real publisher. It stays a zombie until the end of
// the test, which must make no difference.
func TestDirectory_killedPublisher(t *testing.T) {
	if file.ThisProcess().Space == "" {
		t.Skip("needs a /proc that shows this process")
	}
	folder := t.TempDir()
	publisher := startPublisher(t, folder)
	events := watch(t, open(t, folder, file.Config{Poll: 50 * time.Millisecond, Expiry: time.Hour}))
	want(t, events, directory.Appeared, "killed")
	start := time.Now()
	if err := publisher.Kill(); err != nil {
		t.Fatal(err)
	}
	if e := want(t, events, directory.Gone, "killed"); !errors.Is(e.Err, directory.ErrDead) {
		t.Errorf("got %v, want ErrDead", e)
	}
	t.Logf("noticed after %v", time.Since(start))
}

func TestDirectory_anEndedPublisherHasASuccessor(t *testing.T) {
	folder := t.TempDir()
	data, err := file.Encode(entry("a", 1), 1, time.Second, endedProcess(t), 1)
	if err != nil {
		t.Fatal(err)
	}
	write(t, folder, "a.jsonl", data)
	reader := open(t, folder, manual)
	events := watch(t, reader)
	announce(t, open(t, folder, manual), entry("a", 2))
	reader.Scan()
	if e := want(t, events, directory.Appeared, "a"); !e.Entry.Equal(entry("a", 2)) {
		t.Errorf("got %+v, want the entry of the successor only", e.Entry)
	}
}

func TestDirectory_removesFilesOfEndedPublishersWhenOld(t *testing.T) {
	if file.ThisProcess().Space == "" {
		t.Skip("needs a /proc that shows this process")
	}
	folder := t.TempDir()
	old := time.Now().Add(-time.Hour)
	plant := func(name string, p file.Process, written time.Time) {
		data, err := file.Encode(entry(name, 1), 1, time.Second, p, 1)
		if err != nil {
			t.Fatal(err)
		}
		write(t, folder, name+".jsonl", data)
		if err := os.Chtimes(filepath.Join(folder, name+".jsonl"), written, written); err != nil {
			t.Fatal(err)
		}
	}
	plant("ended-long-ago", endedProcess(t), old)
	plant("ended-now", endedProcess(t), time.Now())
	plant("may-live", file.Process{}, old)
	write(t, folder, ".half.tmp", nil)
	write(t, folder, ".writing.tmp", nil)
	if err := os.Chtimes(filepath.Join(folder, ".half.tmp"), old, old); err != nil {
		t.Fatal(err)
	}
	events := watch(t, open(t, folder, manual))
	want(t, events, directory.Appeared, "may-live")
	wantNone(t, events)
	tests := []struct {
		name, file string
		there      bool
	}{
		{"an old file of an ended publisher", "ended-long-ago.jsonl", false},
		{"a new file of an ended publisher", "ended-now.jsonl", true},
		{"an old file of who may live", "may-live.jsonl", true},
		{"an old temporary file", ".half.tmp", false},
		{"a new temporary file", ".writing.tmp", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := os.Stat(filepath.Join(folder, test.file))
			if there := err == nil; there != test.there {
				t.Errorf("got there %t, want %t", there, test.there)
			}
		})
	}
}

// A reader whose clock is ahead of that of the file system took the file that a publisher was writing for one that was left
// behind: that could not announce itself.
func TestDirectory_aClockThatIsAheadRemovesNothing(t *testing.T) {
	folder := t.TempDir()
	now := time.Now().Add(-time.Hour) // by the clock of the file system
	announce(t, open(t, folder, manual), entry("a", 1))
	write(t, folder, ".writing.tmp", nil)
	for _, name := range []string{"a.jsonl", ".writing.tmp"} {
		testkit.Must(t, os.Chtimes(filepath.Join(folder, name), now, now))
	}
	want(t, watch(t, open(t, folder, manual)), directory.Appeared, "a")
	if _, err := os.Stat(filepath.Join(folder, ".writing.tmp")); err != nil {
		t.Errorf("got %v, want the file that is being written", err)
	}
}
