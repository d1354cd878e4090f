// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit"
)

func TestWhyAProcessDoesNotAnswer(t *testing.T) {
	const limits = "Limit                     Soft Limit           Hard Limit           Units\nMax open files            %s                 4096                 files\n"
	for _, c := range []struct {
		name, stat, limit string
		files             int
		want              string
	}{
		{"it runs", "7 (pub) S 1 7", "64", 20, ""},
		{"it is stopped", "7 (pub) T 1 7", "64", 20, "its process 7 is stopped"},
		{"a debugger has it", "7 (a) S ) t 1 7", "64", 20, "its process 7 is stopped"},
		{"those for files are left", "7 (pub) S 1 7", "64", 60, "its process 7 has 60 of the 64 descriptors that it may have"},
		{"one is left", "7 (pub) S 1 7", "64", 59, ""},
		{"its limit was lowered", "7 (pub) S 1 7", "10", 20, "its process 7 has 20 of the 10 descriptors that it may have"},
		{"it has no limit", "7 (pub) S 1 7", "unlimited", 20, ""},
		{"nothing is known", "", "", 0, ""},
	} {
		root := fstest.MapFS{}
		if c.stat != "" {
			root["proc/7/stat"] = &fstest.MapFile{Data: []byte(c.stat)}
			root["proc/7/limits"] = &fstest.MapFile{Data: fmt.Appendf(nil, limits, c.limit)}
		}
		for i := range c.files {
			root[fmt.Sprintf("proc/7/fd/%d", i)] = &fstest.MapFile{}
		}
		p := lookAtProcess(root, 7)
		why, do := p.trouble()
		if !strings.HasPrefix(why, c.want) || (c.want == "") != (why == "") || (why == "") != (do == "") {
			t.Errorf("%s: got %q, %q, want %q", c.name, why, do, c.want)
		}
	}
}

func TestAProcessOfThisHost(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	testkit.Must(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	testkit.Must(t, cmd.Process.Signal(syscall.SIGSTOP))
	testkit.Must(t, unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil))
	p := lookAtProcess(os.DirFS("/"), cmd.Process.Pid)
	if !p.stopped || p.files < 0 || p.most <= 0 {
		t.Errorf("got %+v of a process that is stopped, want that, its descriptors and its limit", p)
	}
	if own := lookAtProcess(os.DirFS("/"), os.Getpid()); own.stopped || own.files < 3 {
		t.Errorf("got %+v of this process, want that it runs, and has files", own)
	}
}

// What is wrong with the process of an entry stands where the entry is said not to answer, in place of a guess.
func TestTheProcessOfASilentEntryIsTheCulprit(t *testing.T) {
	for _, c := range []struct {
		process *processSeen
		want    string
	}{
		{nil, "it was killed, is stopped, or its host is cut off"},
		{&processSeen{pid: 7, files: 20, most: 64}, "and it does not answer: its process 7 runs, and is overloaded or stands still"},
		{&processSeen{pid: 7, files: -1, most: -1, stopped: true}, "and it does not answer: its process 7 is stopped\n      do: kill -CONT 7"},
		{&processSeen{pid: 7, files: 64, most: 64}, "and it does not answer: its process 7 has 64 of the 64 descriptors that it may have, and takes no connections\n      do: raise its limit"},
	} {
		s := healthy()
		e := &s.entries[0]
		e.moved, e.silent, e.process = false, time.Minute, c.process
		e.greets[0].err = syscall.ECONNRESET
		all := func(Finding) bool { return true }
		level := "error: stale-entry"
		if c.process == nil {
			level = "warning: stale-entry"
		}
		if got := shown(judgeEntries(s), all); !strings.Contains(got, c.want) || !strings.Contains(got, level) {
			t.Errorf("got %s, want %s: %q", got, level, c.want)
		}
		e.moved = true // its entry is renewed, and it does not answer
		got := shown(judgeAddresses(s), all)
		if why, do := c.process.trouble(); !strings.Contains(got, "closes connections without a hello") || !strings.Contains(got, why) || !strings.Contains(got, do) {
			t.Errorf("got %s, want that it closes connections, %q and %q", got, why, do)
		}
	}
}

// A process is looked at once, however many entries name it, and not after the end of the look.
func TestASilentProcessIsLookedAtOnce(t *testing.T) {
	looks := 0
	l := &looker{process: func(pid int) processSeen { looks++; return processSeen{pid: pid} }}
	silent := func() *seen {
		s := healthy()
		for i := range s.entries {
			s.entries[i].PID, s.entries[i].greets[0].err = 7, syscall.ECONNRESET
		}
		return s
	}
	s := silent()
	l.lookAtSilent(t.Context(), s)
	if looks != 1 || s.entries[0].process == nil || s.entries[0].process != s.entries[1].process {
		t.Errorf("got %d looks, want one for both entries", looks)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if l.lookAtSilent(ended, silent()); looks != 1 {
		t.Errorf("got %d looks, want none after the end", looks-1)
	}
}
