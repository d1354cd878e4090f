// SPDX-License-Identifier: Apache-2.0

package scripts_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"tagbus/internal/testkit"
)

// TestAPipeThatIsReadInWhole and that nothing writes to is named, and a signal ends the wait.
func TestAPipeThatIsReadInWhole(t *testing.T) {
	notShort(t)
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	testkit.Must(t, unix.Mkfifo(pipe, 0o600))
	file := filepath.Join(dir, "x")
	testkit.Must(t, os.WriteFile(file, nil, 0o600))
	for _, command := range []string{
		"tagbus --config PIPE --bus DIR ls --timeout 1m", "publisher --config PIPE --bus DIR --tags 1 --emulate 16", "subscriber --config PIPE --bus DIR --tags 1",
		"tagbus --bus DIR sub 1 --payloads PIPE --format json", "tagbus losses --loss-file PIPE", "tagbus cert show PIPE", "tagbus rec info PIPE", "tagbus rec verify PIPE",
		"tagbus --bus DIR replay PIPE", "tagbus acl check PIPE", "publisher --bus DIR --tags 1 --emulate 16 --acl PIPE",
		"publisher --bus DIR --tags 1 --emulate 16 --backend tls --cert PIPE --key FILE --ca FILE",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			words := strings.Fields(strings.NewReplacer("PIPE", pipe, "FILE", file, "DIR", dir).Replace(command))
			p := run(t, words[0], words...)
			p.await("waiting for the end of .*/pipe( .--[a-z-]+.)?, which is a pipe or a device: write to it, or name a file, since ")
			p.signal(syscall.SIGTERM)
			p.finish(1)
		})
	}
}

// TestAFileThatMayNotBecomeLarger: each command names the file, the limit of the process, and what
// to do.
func TestAFileThatMayNotBecomeLarger(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "old.tbr")
	writeOneMessage(t, file)
	whole, err := os.ReadFile(file)
	testkit.Must(t, err)
	testkit.Must(t, os.WriteFile(filepath.Join(dir, "cut.tbr"), whole[:len(whole)-4], 0o600))
	bus := filepath.Join(dir, "bus")
	publisher := run(t, "publisher", "publisher", "--bus", bus, "--tags", "1", "--emulate", "2KiB", "--rate", "100")
	publisher.await("publishes on")
	for _, test := range []struct{ command, file string }{
		{"tagbus --bus BUS record 1 DIR/run.tbr", "DIR/run.tbr"},
		{"subscriber --bus BUS --tags 1 --output DIR/out", "DIR/out"},
		{"tagbus --bus BUS sub 1 --out DIR/messages", "DIR/messages/00000001-.*"},
		{"tagbus rec convert DIR/old.tbr --to csv --out DIR/a.csv", "DIR/a.csv"},
		{"tagbus rec convert DIR/old.tbr --to mcap --out DIR/a.mcap", "DIR/a.mcap"},
		{"tagbus rec cut DIR/old.tbr --tags 1 --out DIR/b.tbr", "DIR/b.tbr"},
		{"tagbus rec merge DIR/old.tbr --out DIR/c.tbr", "DIR/c.tbr"},
		{"tagbus rec index DIR/cut.tbr", "DIR/cut.tbr"},
		{"tagbus rec index DIR/cut.tbr --out DIR/d.tbr", "DIR/d.tbr"},
		{"tagbus --bus BUS targets --output DIR/targets.json", "DIR/targets.json"},
		{"tagbus cert init --dir DIR/ca --name x", "DIR/ca/.*"},
		{"publisher --bus DIR/other --tags 1 --emulate 16 --rate 10", "DIR/other/.*"},
	} {
		t.Run(test.command, func(t *testing.T) {
			t.Parallel()
			fill := strings.NewReplacer("DIR", dir, "BUS", bus)
			args := append([]string{"-c", `ulimit -f 0; exec "$@"`, "sh"}, strings.Fields(fill.Replace(test.command))...)
			p := run(t, args[3], append([]string{"sh"}, args...)...)
			p.await(fill.Replace(test.file) + `: (cannot be written: .*)?file too large: files of this process may have 0 bytes \(ulimit -f, LimitFSIZE= of systemd\): raise that limit|` +
				fill.Replace(test.file) + `.*file too large: .*raise the limit of the size of files \(ulimit -f, `)
			p.finish(1)
		})
	}
}

// TestALossFileThatMayNotBecomeLarger does not end a publisher.
func TestALossFileThatMayNotBecomeLarger(t *testing.T) {
	notShort(t)
	t.Parallel()
	dir := t.TempDir()
	loss := filepath.Join(dir, "loss.jsonl")
	if err := os.WriteFile(loss, make([]byte, 600_000), 0o600); err != nil { // more than the limit
		t.Fatal(err)
	}
	p := run(t, "publisher", "sh", "-c", `ulimit -f 1000; exec "$@"`, "sh",
		"publisher", "--bus", filepath.Join(dir, "bus"), "--tags", "1", "--emulate", "2KiB", "--rate", "20k", "--queue-bytes", "2MiB", "--wait-subscribers", "1", "--loss-file", loss)
	s := run(t, "subscriber", "subscriber", "--bus", filepath.Join(dir, "bus"), "--tags", "1", "--policy", "drop-newest")
	s.await("subscribed .* tags")
	s.signal(syscall.SIGSTOP)
	p.await(`loss.jsonl: file too large: files of this process may have 512000 bytes \(ulimit -f, `)
	p.signal(syscall.SIGTERM)
	p.await(`loss.jsonl: that [0-9,]+ messages were lost is not written`)
}
