// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tagbus/internal/testkit"
	"tagbus/internal/testkit/away"
)

// TestAPublisherEndsWhileItsFolderIsAway: its subscriber gets the goodbye and all messages, and
// it ends, though it cannot withdraw its entry.
func TestAPublisherEndsWhileItsFolderIsAway(t *testing.T) {
	notShort(t)
	t.Parallel()
	m := away.New(t)
	sub := run(t, "subscriber", "subscriber", "--bus", m.Path(), "--tags", "1", "--until-goodbye", "--json")
	pub := run(t, "publisher", "publisher", "--bus", m.Path(), "--tags", "1", "--emulate", "100", "--rate", "100", "--wait-subscribers", "1", "--json")
	pub.await("subscribed .*")
	m.Goes()
	pub.signal(syscall.SIGTERM)
	sub.await("goodbye .*")
	pub.finish(1) // its entry stays
	pub.await("file system does not answer")
	sub.finish(0)
	var there publisherSummary
	var here subscriberSummary
	pub.summary(&there)
	sub.summary(&here)
	if here.Messages != there.Messages || here.Lost != 0 {
		t.Errorf("received %d and lost %d of %d messages, want all", here.Messages, here.Lost, there.Messages)
	}
}

// TestARecordingThatGoesAway while it is replayed, and an input that does: subscribers get all that was
// published, and the goodbye, and what is left is named.
func TestARecordingThatGoesAway(t *testing.T) {
	notShort(t)
	for _, test := range []struct{ name, command string }{
		{"replay", "tagbus --bus LOCAL --json replay AWAY/a.rec --wait-subscribers 2"},
		{"replay without a check", "tagbus --bus LOCAL --json replay AWAY/a.rec --wait-subscribers 2 --no-check"},
		{"publisher", "publisher --bus LOCAL --tags 1 --input AWAY/a --record fixed:1024 --rate 10k --wait-subscribers 2 --json"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, local := away.New(t), t.TempDir()
			made := filepath.Join(local, "a.rec")
			writeMessages(t, made, 40_000, 1024, 100*time.Microsecond) // in more blocks than are read ahead
			for name, from := range map[string]string{"a.rec": made, "a": made} {
				data, err := os.ReadFile(from)
				testkit.Must(t, err)
				testkit.Must(t, os.WriteFile(filepath.Join(m.Path(), name), data, 0o600))
			}
			words := strings.Fields(strings.NewReplacer("AWAY", m.Path(), "LOCAL", local).Replace(test.command))
			p := run(t, words[0], words...)
			p.await("waiting for 2 subscribers")
			sub := run(t, "subscriber", "subscriber", "--bus", local, "--tags", "1", "--until-goodbye", "--json")
			sub.await("subscribed .* tags")
			run(t, "first", "subscriber", "--bus", local, "--tags", "1", "--count", "100").finish(0)
			m.Goes()
			p.await("waiting for .*/a(.rec)?( .--input.)?: its file system does not answer, since ")
			p.signal(syscall.SIGTERM)
			sub.await("goodbye .*")
			p.finish(1)
			sub.finish(0)
			p.await("/a(.rec)?: its file system does not answer: what is left in it is not published")
			var there publisherSummary
			var here subscriberSummary
			p.summary(&there)
			sub.summary(&here)
			if here.Messages != there.Messages || here.Messages == 0 || here.Lost != 0 {
				t.Errorf("received %d and lost %d of %d messages, want all", here.Messages, here.Lost, there.Messages)
			}
		})
	}
}

// TestAnOutputThatGoesAway is said, once, while messages come; a signal ends the program after
// all, and what has not been written is counted.
func TestAnOutputThatGoesAway(t *testing.T) {
	notShort(t)
	for _, test := range []struct{ name, command string }{
		{"a recording", "tagbus --bus LOCAL --json record 1 AWAY/a.rec --flush-every 100ms"},
		{"a recording that is synced", "tagbus --bus LOCAL --json record 1 AWAY/a.rec --fsync block --flush-every 100ms"},
		{"the output of a subscriber", "subscriber --bus LOCAL --tags 1 --output AWAY/a.rec --json"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m, local := away.New(t), t.TempDir()
			words := strings.Fields(strings.NewReplacer("AWAY", m.Path(), "LOCAL", local).Replace(test.command))
			pub := run(t, "publisher", "publisher", "--bus", local, "--tags", "1", "--emulate", "100", "--rate", "100")
			p := run(t, words[0], words...)
			pub.await("subscribed .*")
			for deadline := time.Now().Add(patience); !hasFile(m.Path()) && time.Now().Before(deadline); { // it is opened first
				<-time.After(10 * time.Millisecond)
			}
			m.Goes()
			p.await("waiting for .*/a.rec.*: its file system does not answer, since ")
			p.signal(syscall.SIGTERM)
			p.await("waiting for .*a.rec to take what has arrived")
			p.signal(syscall.SIGTERM)
			p.finish(1)
			var s struct {
				NotWritten uint64 `json:"not_written"`
			}
			p.summary(&s)
			if s.NotWritten == 0 {
				t.Errorf("got none that were not written, want some")
			}
			pub.signal(syscall.SIGTERM)
			pub.finish(0)
		})
	}
}

// hasFile reports whether there is something in a folder.
func hasFile(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && len(entries) > 0
}

// TestCommandsWhoseFilesAreAway say so, and end when they are told to, or by themselves.
func TestCommandsWhoseFilesAreAway(t *testing.T) {
	notShort(t)
	if !testkit.All() {
		t.Skip("left out without TAGBUS_TESTS=all: each command waits for some seconds")
	}
	m := away.New(t)
	local := t.TempDir()
	for _, name := range []string{"x", "x.rec", "config.toml"} {
		testkit.Must(t, os.WriteFile(filepath.Join(m.Path(), name), []byte("name = \"x\"\n"), 0o600))
	}
	old := filepath.Join(local, "old.rec")
	writeOneMessage(t, old)
	whole, err := os.ReadFile(old)
	testkit.Must(t, err)
	testkit.Must(t, os.WriteFile(filepath.Join(local, "cut.rec"), whole[:len(whole)-4], 0o600))
	m.Goes()
	for _, test := range []struct {
		command string
		says    string
		ends    bool // by itself, or else by a signal
		status  int
	}{
		{"tagbus --bus AWAY ls", "file system does not answer in 2s .--timeout.", true, 1},
		{"tagbus --bus AWAY top --once", "file system does not answer in 2s .--timeout.", true, 1},
		{"tagbus --bus AWAY info x", "file system does not answer in 2s .--timeout.", true, 1},
		{"publisher --bus AWAY --tags 1 --emulate 10 --rate 10", "not in the directory yet.*file system does not answer: for 2.5s", false, 1},
		{"subscriber --bus AWAY --tags 1", "problem: .*file system does not answer: for 2.5s", false, 0},
		{"subscriber --bus AWAY --tags 1 --receive", "not in the directory yet.*file system does not answer", false, 1},
		{"tagbus --bus AWAY record 1 LOCAL/a.rec", "file system does not answer", false, 0},
		{"subscriber --bus LOCAL --tags 1 --output AWAY/out", "waiting for .*/out .--output.: its file system does not answer", false, 1},
		{"subscriber --bus LOCAL --tags 1 --config AWAY/config.toml", "waiting for .*/config.toml .--config.: its file system does not answer", false, 1},
		{"tagbus --bus LOCAL record 1 AWAY/b.rec", "waiting for .*/b.rec: its file system does not answer", false, 1},
		{"tagbus --bus LOCAL replay AWAY/x.rec", "waiting for .*/x.rec: its file system does not answer", false, 1},
		{"tagbus rec index AWAY/x.rec", "waiting for .*/x.rec: its file system does not answer", false, 1},
		{"tagbus rec index LOCAL/cut.rec --out AWAY/y.rec", "waiting for .*/y.rec .--out.: its file system does not answer", false, 1},
		{"tagbus rec convert LOCAL/old.rec --to csv --out AWAY/x.csv", "waiting for .*/x.csv .--out.: its file system does not answer", false, 1},
		{"tagbus rec cut LOCAL/old.rec --tags 1 --out AWAY/z.rec", "waiting for .*/z.rec .--out.: its file system does not answer", false, 1},
		{"tagbus rec merge LOCAL/old.rec --out AWAY/z.rec", "waiting for .*/z.rec .--out.: its file system does not answer", false, 1},
		{"tagbus rec info AWAY/x.rec", "waiting for .*/x.rec: its file system does not answer", false, 1},
		{"publisher --bus LOCAL --tags 1 --input AWAY/x --record lines", "waiting for .*/x .--input.: its file system does not answer", false, 1},
		{"tagbus losses --loss-file AWAY/x", "waiting for .*/x .--loss-file.: its file system does not answer", false, 1},
		{"tagbus --bus LOCAL targets --output AWAY/targets.json", "waiting for .*/targets.json .--output.: its file system does not answer", false, 1},
		{"tagbus cert init --dir AWAY/ca --name x", "waiting for .*/ca .--dir.: its file system does not answer", false, 1},
		{"tagbus --bus LOCAL sub 1 --payloads AWAY/x --format json", "waiting for .*/x .--payloads.: its file system does not answer", false, 1},
		{"tagbus --config AWAY/config.toml --bus LOCAL ls", "waiting for .*/config.toml .--config.: its file system does not answer; given up after 2s", true, 1},
		{"tagbus cert show AWAY/x", "waiting for .*/x: its file system does not answer", false, 1},
		{"publisher --bus LOCAL --tags 1 --emulate 10 --rate 10 --backend tls --cert AWAY/x --key AWAY/y --ca AWAY/z", "waiting for .*/x .--cert.: its file system does not answer", false, 1},
		{"tagbus acl check AWAY/x", "waiting for .*/x: its file system does not answer", false, 1},
		{"tagbus acl test --policy AWAY/x LOCAL/old.rec", "waiting for .*/x .--policy.: its file system does not answer", false, 1},
		{"tagbus cert issue --dir AWAY cn:x", "waiting for .* .--dir.: its file system does not answer", false, 1},
		{"tagbus cert check --dir AWAY", "waiting for .* .--dir.: its file system does not answer", false, 1},
		{"tagbus rec cat LOCAL/old.rec --print json --payloads AWAY/x", "waiting for .*/x .--payloads.: its file system does not answer", false, 1},
		{"tagbus --bus LOCAL sub 1 --out AWAY/dir", "waiting for .*/dir .--out.: its file system does not answer", false, 1},
		{"publisher --bus LOCAL --tags 1 --emulate 10 --rate 10 --loss-file AWAY/loss", "waiting for .*/loss .--loss-file.: its file system does not answer", false, 0},
	} {
		t.Run(test.command, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(strings.NewReplacer("AWAY", m.Path(), "LOCAL", local).Replace(test.command))
			p := run(t, words[0], words...)
			p.await(test.says)
			if !test.ends {
				p.signal(syscall.SIGTERM)
			}
			p.finish(test.status)
		})
	}
}
