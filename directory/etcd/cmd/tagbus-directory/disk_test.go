// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// smallDisk returns a folder on a file system of its own.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a small file system")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("needs the right to mount a file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// fill fills the file system of a folder, and returns the file that does.
func fill(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	block := make([]byte, 4096)
	for {
		if _, err := f.Write(block); err != nil {
			return name
		}
	}
}

// churn makes a client change an entry of many tags until enough returns true.
func (s *scene) churn(tags int, enough func(answer string) bool) {
	s.t.Helper()
	for range 1_000 {
		if enough(s.living[0].order(fmt.Sprintf("large living-0 %d", tags))) {
			return
		}
	}
	s.t.Fatal("got no end of what an entry is changed for, want one")
}

// The disk of one of three members is full. It ends and says why; the others go on. With
// space again it is as before.
func TestADiskIsFull(t *testing.T) {
	all(t)
	site := &site{t: t}
	disk := smallDisk(t, "200m")
	for i := range 3 {
		m := site.add(fmt.Sprintf("m%d", i), "127.0.0.1:"+freePorts(t))
		if i == 2 {
			m.data = filepath.Join(disk, "data")
		}
		m.start()
	}
	s := newScene(t, site.url(), 3)
	filler := fill(t, disk)
	full := site.servers[2]
	s.churn(10_000, func(string) bool {
		select {
		case <-full.ended:
			return true
		default:
			return false
		}
	})
	if code := full.wait(); code != 1 {
		t.Errorf("got exit code %d of the member, want 1", code)
	}
	said := full.await(0, "the disk is full: free space on the disk of the folder of data")
	t.Log(said.text)
	s.dies()
	s.goesOn()
	s.buried(time.Time{})

	full.relaunch() // as systemd does, too early
	if code := full.wait(); code != 1 && code != 2 {
		t.Errorf("got exit code %d of the member that has no space yet, want 1 or 2", code)
	}
	t.Log(full.all())
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	full.again()
	s.goesOn()
	s.end()
}

// The database reaches its quota: nothing new is taken, all that is there stays, what is
// dead goes. compact ends the alarm.
func TestTheQuotaIsReached(t *testing.T) {
	t.Parallel()
	all(t)
	site := newSite(t, 1, "--quota", "16777216")
	s := newScene(t, site.url(), 3)
	s.churn(30_000, func(answer string) bool { return answer != "<nil>" })
	site.servers[0].await(0, "alarm NOSPACE: the database has reached its quota")
	s.dies()
	s.buried(time.Time{})
	s.outlast(3)
	s.allLive()
	status := site.admin("status", "--at", site.servers[0].at)
	t.Log(status)
	if !strings.Contains(status, "wrong: alarm NOSPACE") {
		t.Errorf("got %q from status, want the alarm in it", status)
	}
	got := s.living[1].order("announce waiting")
	t.Logf("an entry that is announced meanwhile: %s", got)
	t.Log(site.admin("compact", "--at", site.servers[0].at))
	if got == "<nil>" {
		s.seen("waiting")
	}
	s.goesOn()
	status = site.admin("status", "--at", site.servers[0].at)
	if !strings.Contains(status, "nothing is wrong") {
		t.Errorf("got %q from status, want nothing wrong", status)
	}
	s.end()
}

// slowly returns the words with which each write of a command to the disk takes so long.
func slowly(t *testing.T, by time.Duration) []string {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("needs strace of the Debian package strace")
	}
	return []string{
		"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync,fsync", "-e", "signal=none",
		"-e", fmt.Sprintf("inject=fdatasync,fsync:delay_enter=%d", by.Microseconds()),
	}
}

// slowWrite is how long each write of the slow disk takes: a twelfth of expiry, as 2.5 s
// are of the default. The entry of a client takes six of them, one after the other.
const slowWrite = expiry / 12

// The disk of the only member is slow.
func TestASlowDisk(t *testing.T) {
	t.Parallel()
	all(t)
	site := newSite(t, 1)
	m := site.servers[0]
	if code := m.stop(); code != 0 {
		t.Fatalf("got exit code %d of the member, want 0", code)
	}
	m.before = slowly(t, slowWrite)
	m.again()
	s := newScene(t, site.url(), 3)
	s.dies()
	s.goesOn()
	s.buried(time.Time{})
	s.outlast(3)
	s.goesOn()
	s.end()
}

// The disk of the leader of three becomes so slow that it cannot lead in time: another one
// does.
func TestTheLeadersDiskIsSlow(t *testing.T) {
	t.Parallel()
	all(t)
	site := newSite(t, 3)
	s := newScene(t, site.url(), 3)
	slow, marks := site.leader(), make(map[*server]int)
	for _, m := range site.servers {
		marks[m] = m.mark()
	}
	words := slowly(t, 2*time.Second)
	launchBinary(t, "strace", "strace", nil, words[0], append(words[1:], "-p", strconv.Itoa(slow.cmd.Process.Pid))...)
	s.churn(10, func(string) bool { // each change is a write
		for _, m := range site.servers {
			if _, _, leads, _ := m.find(marks[m], "a member leads"); leads && m != slow {
				return true
			}
		}
		return false
	})
	s.dies()
	s.goesOn()
	s.buried(time.Time{})
	s.outlast(3)
	s.goesOn()
	s.end()
}
