// SPDX-License-Identifier: Apache-2.0

package rec_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"tagbus/recording"
)

// lastLine returns the last of some lines.
func lastLine(all []string) string { return all[len(all)-1] }

func TestIndexInPlace(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), simple()...)
	b.cutOff("a.tbr", 600)
	before := b.lines("a.tbr")
	b.says("index a.tbr", 0, "a.tbr: index of 70 messages and 2 events written; the file was not closed: what its recorder wrote last is missing (")
	after := b.lines("a.tbr")
	if strings.Join(after[:len(after)-1], "\n") != strings.Join(before, "\n") || !strings.HasPrefix(lastLine(after), "stopped by a failure: the file was not closed") {
		t.Errorf("got\n%s\nwant\n%s\nand that it was not closed", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
	b.says("info a.tbr", 0, "opened by its index; it is the last part")
	b.says("verify a.tbr", 1, "not whole", "the recorder stopped before its time: the file was not closed")
	b.says("index a.tbr", 2, "has its index: there is nothing to repair")
}

func TestIndexIntoAnotherFile(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), simple()...)
	b.cutOff("a.tbr", 300)
	b.change("a.tbr", damageBlock(1))
	old, err := os.ReadFile(b.path("a.tbr"))
	must(t, err)
	b.says("index a.tbr --out b.tbr --codec s2", 1, "block 1 at offset", "it is passed over", "b.tbr: index of 70 messages")
	if now, err := os.ReadFile(b.path("a.tbr")); err != nil || string(now) != string(old) {
		t.Errorf("the file has changed (%v)", err)
	}
	report := b.report("b.tbr")
	if report.Files[0].ID != (recording.ID{1}) || report.Files[0].Name != "rec" || report.Whole() || !strings.Contains(report.Stopped.Text, "1 block could not be read") {
		t.Errorf("got %+v, want the same recording, not whole", report)
	}
	b.says("index a.tbr --out b.tbr", 2, "--out: b.tbr exists: give another name, or remove it first")
}

func TestIndexRefuses(t *testing.T) {
	b := newBed(t)
	b.record("a.tbr", header(1), simple()...)
	b.says("index a.tbr --out b.tbr", 2, "there is nothing to repair")
	b.says("index none.tbr", 2, "no such file")
	b.cutOff("a.tbr", 100)
	b.change("a.tbr", func(data []byte) []byte { data[44] ^= 1; return data })
	b.says("index a.tbr", 1, "the file header is damaged: --out writes what can be read into a new file")
	b.says("index a.tbr --out c.tbr", 0)

	b.record("live.tbr", header(2), simple()...)
	b.cutOff("live.tbr", 100)
	f, err := os.Open(b.path("live.tbr"))
	must(t, err)
	defer f.Close()
	must(t, syscall.Flock(int(f.Fd()), syscall.LOCK_SH))
	b.says("index live.tbr", 2, "another process has the file open and locked")
}
