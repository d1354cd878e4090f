// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rows

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/test/faults/internal/table"
)

// found is how long a subscriber that comes takes to find a publisher.
const found = 5 * time.Second

// directories are the rows of the directory.
var directories = []table.Row{
	{
		Number: "24", Name: "the disk of the directory is full", Inject: "a tmpfs filled to the last byte, 8 s",
		Promise: "messages flow; a subscriber that comes meanwhile finds the publisher; a publisher that starts afterwards is found within 5 s",
		Quick:   true,
		Run: func(c *table.Case) {
			c.Must(os.Mkdir(c.Bus, 0o755))
			c.Must(unix.Mount("tmpfs", c.Bus, "tmpfs", 0, "size=256k"))
			c.Undo(func() { _ = unix.Unmount(c.Bus, unix.MNT_DETACH) })
			_, victim, other := c.Begin()
			c.Lossless()
			at := c.Now()
			filler := filepath.Join(c.Bus, "filler")
			fill(c, filler)
			table.Idle(8 * time.Second)
			late(c, victim, other)
			victim.NotTold("lost", at)
			c.Must(os.Remove(filler))
			after(c)
			c.Finish()
		},
	},
	{
		Number: "25", Name: "files of the directory are garbage", Inject: "random bytes, half an entry and an empty file, as entries",
		Promise: "each is told, and passed over: a subscriber that comes finds the publisher within 5 s", Quick: true,
		Run: func(c *table.Case) { planted(c, garbage) },
	},
	{
		Number: "26", Name: "files of the directory are traps", Inject: "a FIFO, a symbolic link to nowhere, one to /dev/zero, a file of 1 GiB, a folder, as entries",
		Promise: "as 25; nothing waits for them", Run: func(c *table.Case) { planted(c, traps) },
	},
	{
		Number: "27", Name: "the folder of the directory is gone", Inject: "renamed, 4 s, and put back", Promise: "messages flow; after it a subscriber that comes finds the publisher within 5 s",
		Quick: true,
		Run: func(c *table.Case) {
			_, victim, other := c.Begin()
			c.Lossless()
			at := c.Now()
			c.Must(os.Rename(c.Bus, c.Bus+".away"))
			table.Idle(4 * time.Second)
			flow(c.Now(), 5*time.Second, victim, other)
			_ = os.RemoveAll(c.Bus) // a publisher may have made it again
			c.Must(os.Rename(c.Bus+".away", c.Bus))
			victim.NotTold("lost", at)
			late(c, victim, other)
			c.Finish()
		},
	},
	{
		Number: "27b", Name: "the folder of the directory is removed", Inject: "rm -r, with all entries", Promise: "the publisher announces itself again: a subscriber that comes finds it within 15 s; messages flow",
		Run: func(c *table.Case) {
			_, victim, other := c.Begin()
			c.Lossless()
			at := c.Now()
			c.Must(os.RemoveAll(c.Bus))
			s := c.Subscriber("late", c.B)
			s.Late = true
			s.Told("complete", at, 15*time.Second)
			flow(c.Now(), 5*time.Second, victim, other)
			victim.NotTold("lost", at)
			c.Finish()
		},
	},
	{
		Number: "38", Name: "two publishers have the same tags", Inject: "another one with the tags of the first", Promise: "each subscriber is told, and gets the messages of both, each in order",
		Directories: both, Ways: all,
		Run: func(c *table.Case) {
			_, victim, other := c.Begin()
			c.Lossless()
			at := c.Now()
			c.Publisher("second", c.A, "-subscribers", "2").Says("ready")
			victim.Late, other.Late = true, true // of the second one
			victim.Told("duplicate", at, found)
			other.Told("duplicate", at, found)
			flow(c.Now(), 5*time.Second, victim, other)
			c.Finish()
		},
	},
	{
		Number: "etcd 1", Name: "the only server of a directory is killed and starts again", Inject: "SIGKILL of tagbus-directory, 6 s",
		Promise:     "messages flow; after it a subscriber that comes finds the publisher within 15 s",
		Directories: []string{table.Etcd}, Ways: all, Needs: []string{"ss"}, Quick: true,
		Run: func(c *table.Case) {
			publisher, victim, other := c.Begin()
			c.Lossless()
			at := c.Now()
			c.Server.Kill()
			table.Idle(6 * time.Second)
			flow(c.Now(), 5*time.Second, victim, other)
			c.StartServer()
			again(c, at, publisher, victim, other)
		},
	},
	{
		Number: "etcd 2", Name: "the only server of a directory stands still", Inject: "SIGSTOP of tagbus-directory, longer than the entries live, 15 s",
		Promise: "as etcd 1", Directories: []string{table.Etcd}, Ways: all, Needs: []string{"ss"},
		Run: func(c *table.Case) {
			publisher, victim, other := c.Begin()
			c.Lossless()
			at := c.Now()
			c.Must(c.Server.Signal(syscall.SIGSTOP))
			table.Idle(15 * time.Second)
			flow(c.Now(), 5*time.Second, victim, other)
			c.Must(c.Server.Signal(syscall.SIGCONT))
			again(c, at, publisher, victim, other)
		},
	},
}

// again lets a subscriber in after the directory was away, and ends the case.
func again(c *table.Case, at int64, publisher, victim, other *table.Program) {
	begun := c.Now()
	s := c.Subscriber("late", c.Far())
	s.Late = true
	s.Told("complete", begun, 15*time.Second)
	flow(c.Now(), 5*time.Second, victim, other, s)
	victim.NotTold("lost", at)
	// One that ends before says that its entry could not be removed, which is no fault of it.
	c.Until("the publisher reaches the directory", 15*time.Second, func() bool {
		out, err := exec.Command("ip", "netns", "exec", c.A.Name, "ss", "-Htnp", "state", "established", "dport", "=", "2379").Output()
		return err == nil && strings.Contains(string(out), fmt.Sprintf("pid=%d,", publisher.PID()))
	})
	c.Finish()
}

// late lets a subscriber in.
func late(c *table.Case, programs ...*table.Program) {
	begun := c.Now()
	s := c.Subscriber("late", c.Far())
	s.Late = true
	s.Told("complete", begun, found)
	flow(c.Now(), 5*time.Second, append(programs, s)...)
}

// after starts a publisher, which all are to find.
func after(c *table.Case) {
	at := c.Now()
	p := c.Publisher("after", c.A, "-subscribers", "1", "-tags", "6")
	p.Says("ready")
	c.Took("a publisher is announced", time.Duration(c.Now()-at), found)
	for _, s := range c.Subscribers() {
		s.Late = true
	}
	p.Says("begins")
	for _, s := range c.Subscribers() {
		s.Told("duplicate", at, found)
	}
}

// fill writes a file until the disk is full.
func fill(c *table.Case, path string) {
	f, err := os.Create(path)
	c.Must(err)
	defer func() { _ = f.Close() }()
	for n := 1 << 16; n > 0; n /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, n))
		}
	}
}

// planted puts files beside the entries, and lets a subscriber in.
func planted(c *table.Case, plant func(c *table.Case, folder, entry string)) {
	_, victim, other := c.Begin()
	c.Lossless()
	at, n := c.Now(), 0
	c.Must(filepath.WalkDir(c.Bus, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.Contains(filepath.Base(path), "planted") {
			plant(c, filepath.Dir(path), path)
			n++
		}
		return err
	}))
	if n == 0 {
		c.Fail("no file in %s", c.Bus)
	}
	c.Note("beside %d files", n)
	victim.ToldWhy("problem", "damaged|not a regular file", at, found)
	late(c, victim, other)
	victim.NotTold("lost", at)
	c.Finish()
}

// plantedName returns a name like that of an entry.
func plantedName(entry string, i int) string {
	base := filepath.Base(entry)
	stem, extension, _ := strings.Cut(base, ".")
	if extension != "" {
		extension = "." + extension
	}
	return fmt.Sprintf("%splanted%d%s", stem[:min(3, len(stem))], i, extension)
}

func garbage(c *table.Case, folder, entry string) {
	whole, err := os.ReadFile(entry)
	c.Must(err)
	for i, content := range [][]byte{[]byte("\x00\xff\x80garbage\n\n{{{"), whole[:len(whole)/2], nil, []byte(strings.Repeat("x", 100000))} {
		c.Must(os.WriteFile(filepath.Join(folder, plantedName(entry, i)), content, 0o644)) // as entries are
	}
}

func traps(c *table.Case, folder, entry string) {
	at := func(i int) string { return filepath.Join(folder, plantedName(entry, i)) }
	c.Must(unix.Mkfifo(at(0), 0o644))
	c.Must(os.Symlink("/nowhere", at(1)))
	c.Must(os.Symlink("/dev/zero", at(2)))
	c.Must(os.WriteFile(at(3), nil, 0o644)) // as entries are
	c.Must(os.Truncate(at(3), 1<<30))
	c.Must(os.Mkdir(at(4), 0o755))
}
