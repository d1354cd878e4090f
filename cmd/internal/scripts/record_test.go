// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/cmd/internal/emulate"
	"tagbus/internal/testkit"
	"tagbus/recording"
)

// verified returns what Verify finds in the files of a recording.
func verified(names ...string) (*recording.Report, error) {
	files, err := recording.OpenAll(names...)
	if err != nil {
		return nil, err
	}
	report, err := recording.Verify(files...)
	return report, errors.Join(err, files.Close())
}

// TestAKilledRecorder: whenever it is killed, each file opens, everything before the block
// that was being written is there, and each message is as it was published.
func TestAKilledRecorder(t *testing.T) {
	notShort(t)
	kills := 6
	if testkit.All() {
		kills = 100
	}
	dir := t.TempDir()
	p := run(t, "publisher", "tagbus", "pub", "--bus", dir, "0x100-0x17f", "--size", "28-3000", "--rate", "20k", "--wait", "0", "-q")
	messages := uint64(0)
	for n := range kills {
		file := filepath.Join(dir, fmt.Sprintf("run%d.tbr", n))
		codec := []string{"none", "s2", "zstd"}[n%3]
		r := run(t, "recorder", "tagbus", "record", "--bus", dir, "0x100-0x17f", file, "--codec", codec, "--flush-every", "20ms", "--rotate-bytes", "2MiB", "--fsync", "never")
		r.await("recorder|subscribed")
		idle(rand.N(400 * time.Millisecond))
		r.signal(syscall.SIGKILL)
		r.finish(-1)
		parts, err := filepath.Glob(strings.TrimSuffix(file, ".tbr") + "*.tbr")
		if err != nil || len(parts) == 0 {
			t.Fatalf("kill %d: got files %v, %v want some", n, parts, err)
		}
		messages += checkKilled(t, n, parts)
	}
	if messages == 0 {
		t.Error("no message was recorded")
	}
	p.signal(syscall.SIGINT)
	p.finish(0, 1) // those that were killed have not confirmed what they got
}

// checkKilled checks the files of a recorder that was killed, and returns how many messages
// there are.
func checkKilled(t *testing.T, n int, parts []string) uint64 {
	t.Helper()
	const mostBlock = 2 << 20 // a block, and what may come too much
	report, err := verified(parts...)
	if err != nil {
		t.Fatalf("kill %d: %v", n, err)
	}
	total := report.Total()
	if total.Missing+total.Lost.Lost()+total.Repeated+total.Backward > 0 {
		t.Errorf("kill %d: got %+v, want no hole", n, total)
	}
	for i, f := range report.Files {
		last := i == len(report.Files)-1
		if f.Broken > 0 || f.Skipped > 0 || f.HeaderDamage != nil || f.Cut > mostBlock || !last && (!f.Indexed || !f.Continues) {
			t.Errorf("kill %d: got %+v, want all that is before the last block", n, f)
		}
	}
	files, err := recording.OpenAll(parts...)
	testkit.Must(t, err)
	defer files.Close()
	var v emulate.Verifier
	for m, err := range files.Messages(recording.Query{}) {
		if err == nil {
			err = v.Check(m.Message)
		}
		if err != nil {
			t.Fatalf("kill %d: %v", n, err)
		}
	}
	return total.Messages
}

// recorded is the summary of tagbus record.
type recorded struct {
	Whole      bool
	Messages   uint64
	Lost       uint64
	NotWritten uint64 `json:"not_written"`
	Holds      uint64
	Ended      string
	Error      string
}

// TestARecordingOfADiskThatFills: with room to spare the recorder stops in order and says so
// in the file; without, everything before the block that did not fit is there.
func TestARecordingOfADiskThatFills(t *testing.T) {
	notShort(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root, to mount a small disk")
	}
	if _, err := exec.LookPath("unshare"); err != nil {
		t.Skip("needs unshare of the Debian package util-linux")
	}
	for keep, ordered := range map[string]bool{"4MiB": true, "0": false} {
		t.Run("--keep-free "+keep, func(t *testing.T) {
			bus, disk, out := t.TempDir(), t.TempDir(), t.TempDir()
			p := run(t, "publisher", "tagbus", "pub", "--bus", bus, "0x100-0x17f", "--size", "1000", "--rate", "50k", "-q")
			script := fmt.Sprintf("mount -t tmpfs -o size=16m none %s || exit 77; tagbus record --bus %s 0x100-0x17f %s/run.tbr --queue-bytes 1MiB --keep-free %s --json; status=$?; cp %s/* %s; exit $status",
				disk, bus, disk, keep, disk, out)
			r := run(t, "recorder", "unshare", "--mount", "sh", "-c", script)
			r.finish(1, 77)
			if r.cmd.ProcessState.ExitCode() == 77 {
				t.Skip("needs the right to mount a small disk")
			}
			p.signal(syscall.SIGINT)
			p.finish(0, 1)
			var s recorded
			r.summary(&s)
			report, err := verified(filepath.Join(out, "run.tbr"))
			testkit.Must(t, err)
			got, f := report.Total(), report.Files[0]
			if s.Whole || s.Ended != "disk" || s.Error == "" || got.Messages != s.Messages-s.NotWritten || got.Messages == 0 || got.Missing > 0 || f.Broken > 0 {
				t.Errorf("got %+v and\n%v", s, report)
			}
			if e := report.Stopped; ordered != (e != nil && e.Failed && f.Indexed && s.NotWritten == 0 && f.Bytes < 14<<20) {
				t.Errorf("got %+v and\n%v\nstopped %v, want it in order: %v", s, report, e, ordered)
			}
			if !ordered && !strings.Contains(s.Error, "no space left on device") {
				t.Errorf("got error %q, want the one of the system", s.Error)
			}
		})
	}
}

// TestARecordingOfASlowDisk: a FIFO that is not read for a while. The publisher is held, or
// messages are lost in its count, and the recording has the same holes.
func TestARecordingOfASlowDisk(t *testing.T) {
	notShort(t)
	for _, policy := range []string{"block", "drop-newest", "drop-oldest"} {
		t.Run(policy, func(t *testing.T) {
			const messages = 60_000
			dir := t.TempDir()
			fifo, file := filepath.Join(dir, "fifo"), filepath.Join(dir, "run.tbr")
			testkit.Must(t, unix.Mkfifo(fifo, 0o600))
			r := run(t, "recorder", "tagbus", "record", "--bus", dir, "0x100-0x103", fifo, "--queue-bytes", "1MiB", "--policy", policy, "--until-goodbye", "--json")
			from, err := os.Open(fifo) // when the recorder does
			testkit.Must(t, err)
			defer from.Close()
			p := run(t, "publisher", "publisher", "--bus", dir, "--tags", "0x100-0x103", "--emulate", "1000", "--count", strconv.Itoa(messages),
				"--wait-subscribers", "1", "--queue-bytes", "4MiB", "--metrics", "127.0.0.1:0", "--json")
			metric := `tagbus_publisher_lost_messages_total{cause="full"}`
			if policy == "block" {
				metric = "tagbus_publisher_refusals_total" // it is held
			}
			for p.metric(metric) == 0 {
				idle(10 * time.Millisecond)
			}
			to, err := os.Create(file)
			testkit.Must(t, err)
			if _, err := io.Copy(to, from); err != nil {
				t.Fatal(err)
			}
			testkit.Must(t, to.Close())
			p.finish(0)
			status := 0
			if policy != "block" {
				status = 1
			}
			r.finish(status)
			var sent struct{ Messages, Lost uint64 }
			p.summary(&sent)
			var s recorded
			r.summary(&s)
			report, err := verified(file)
			testkit.Must(t, err)
			total := report.Total()
			if sent.Messages != messages || s.Holds == 0 || s.Messages != total.Messages || s.Lost != sent.Lost || total.Lost.Lost() != sent.Lost ||
				total.Messages+sent.Lost != messages || total.Unexplained > 0 || s.Whole != (policy == "block") || report.Whole() != s.Whole {
				t.Errorf("published %+v, recorded %+v, in the file %+v\n%v", sent, s, total, report)
			}
		})
	}
}

// TestAFullDiskLeavesNoPartOfAMessage: a file of sub --out that could not be written was left, and looked
// like a message without data.
func TestAFullDiskLeavesNoPartOfAMessage(t *testing.T) {
	notShort(t)
	t.Parallel()
	bus, disk, out := t.TempDir(), t.TempDir(), t.TempDir()
	p := run(t, "publisher", "tagbus", "pub", "--bus", bus, "1", "--size", "1000", "--rate", "1k", "-q")
	script := fmt.Sprintf("mount -t tmpfs -o size=64k none %s || exit 77; tagbus sub --bus %s 1 --out %s/d > %s/names; status=$?; find %s/d -type f ! -size 1000c > %s/parts; exit $status", disk, bus, disk, out, disk, out)
	s := run(t, "sub", "unshare", "--mount", "sh", "-c", script)
	s.finish(1, 77)
	if s.cmd.ProcessState.ExitCode() == 77 {
		t.Skip("needs the right to mount a small disk")
	}
	p.signal(syscall.SIGINT)
	p.finish(0, 1)
	if parts, err := os.ReadFile(filepath.Join(out, "parts")); err != nil || len(parts) > 0 {
		t.Errorf("got the files %q, %v, want none that is not a message", parts, err)
	}
	s.await("no space left on device.*: make room, or choose a file elsewhere; what was written of it is removed")
}
