// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rows

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/test/faults/internal/bed"
	"tagbus/test/faults/internal/table"
)

// found is how long a subscriber that comes takes to find a publisher.
const found = 5 * time.Second

// directories are the rows of the directory.
var directories = []table.Row{
	{
		Number: "24", Name: "the disk of the directory is full", Inject: "a tmpfs filled to the last byte, 8 s",
		Promise: "messages flow; a subscriber that comes meanwhile finds the publisher; a publisher that starts afterwards is found within 5 s",
		Quick:   true, Struck: table.Counts{"writes refused": 1},
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
			letIn(c, found, victim, other)
			victim.NotTold("lost", at)
			c.Must(os.Remove(filler))
			after(c)
			c.Finish()
		},
	},
	{
		Number: "25", Name: "files of the directory are garbage", Inject: "random bytes, half an entry, an empty file and 100 kB of one letter, as entries, and beside those of clients",
		Promise: "each is told that is beside the entry of a publisher, and all are passed over: a subscriber that comes finds the publisher within 5 s", Quick: true,
		Struck: table.Counts{"files told": 4},
		Run:    func(c *table.Case) { planted(c, garbage) },
	},
	{
		Number: "26", Name: "files of the directory are traps", Inject: "a FIFO, a symbolic link to nowhere, one to /dev/zero, a file of 1 GiB, a folder, as entries, and beside those of clients",
		Promise: "as 25; nothing waits for them", Struck: table.Counts{"files told": 5}, Run: func(c *table.Case) { planted(c, traps) },
	},
	{
		Number: "27", Name: "the folder of the directory is gone", Inject: "renamed, 4 s, and put back", Promise: "messages flow; after it a subscriber that comes finds the publisher within 5 s",
		Quick: true, Struck: table.Counts{again: 1},
		Run: func(c *table.Case) {
			_, victim, other := c.Begin()
			c.Lossless()
			at := c.Now()
			c.Must(os.Rename(c.Bus, c.Bus+".away"))
			table.Idle(4 * time.Second)
			flow(c.Now(), 5*time.Second, victim, other)
			c.Count(again, len(entries(c)))
			_ = os.RemoveAll(c.Bus) // the publisher has made it again
			c.Must(os.Rename(c.Bus+".away", c.Bus))
			victim.NotTold("lost", at)
			letIn(c, found, victim, other)
			c.Finish()
		},
	},
	{
		Number: "27b", Name: "the folder of the directory is removed", Inject: "rm -r, with all entries", Promise: "the publisher announces itself again: a subscriber that comes finds it within 15 s; messages flow",
		Struck: table.Counts{again: 1},
		Run: func(c *table.Case) {
			_, victim, other := c.Begin()
			c.Lossless()
			at := c.Now()
			c.Must(os.RemoveAll(c.Bus))
			s := c.Subscriber("late", c.B)
			s.Late = true
			s.Told("complete", at, 15*time.Second)
			c.Count(again, len(entries(c)))
			flow(c.Now(), 5*time.Second, victim, other)
			victim.NotTold("lost", at)
			c.Finish()
		},
	},
	{
		Number: "38", Name: "two publishers have the same tags", Inject: "another one with the tags of the first", Promise: "each subscriber is told, and gets the messages of both, each in order",
		Directories: both, Ways: all, Struck: table.Counts{"victim told duplicate": 1, "other told duplicate": 1},
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
		Directories: []string{table.Etcd}, Ways: all, Quick: true, Struck: table.Counts{"victim told do not answer": 1},
		Run: func(c *table.Case) {
			_, victim, other := c.Begin()
			c.Lossless()
			at := c.Now()
			c.Server.Kill()
			victim.ToldWhy("problem", "do not answer", at, found)
			c.IdleUntil(at, 6*time.Second)
			flow(c.Now(), 5*time.Second, victim, other)
			c.StartServer()
			back(c, at, victim, other)
		},
	},
	{
		Number: "etcd 2", Name: "the only server of a directory stands still", Inject: "SIGSTOP of tagbus-directory, longer than the entries live, 15 s",
		Promise: "as etcd 1", Directories: []string{table.Etcd}, Ways: all, Struck: table.Counts{"requests without an answer": 1},
		Run: func(c *table.Case) {
			_, victim, other := c.Begin()
			c.Lossless()
			at := c.Now()
			c.Must(c.Server.Signal(syscall.SIGSTOP))
			if c.On(c.A, c.Tools.Directory, "status", "--at", bed.AddressA) != nil {
				c.Count("requests without an answer", 1)
			}
			c.IdleUntil(at, 15*time.Second)
			flow(c.Now(), 5*time.Second, victim, other)
			c.Must(c.Server.Signal(syscall.SIGCONT))
			back(c, at, victim, other)
		},
	},
}

// again is what shows that publishers have lost their folder: entries that they have written again.
const again = "entries written again"

// back lets a subscriber in after the directory was away, and ends the case.
func back(c *table.Case, at int64, victim, other *table.Program) {
	letIn(c, 15*time.Second, victim, other)
	victim.NotTold("lost", at)
	c.Finish()
}

// entries returns the files of publishers.
func entries(c *table.Case) []string {
	files, err := filepath.Glob(filepath.Join(c.Bus, "*.jsonl"))
	c.Must(err)
	return files
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

// fill writes a file until the disk is full, and counts the write that it refuses.
func fill(c *table.Case, path string) {
	f, err := os.Create(path)
	c.Must(err)
	defer func() { _ = f.Close() }()
	for n := 1 << 16; n > 0; n /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, n))
		}
	}
	if !errors.Is(err, unix.ENOSPC) {
		c.Fail("the disk is not full: %w", err)
	}
	c.Count("writes refused", 1)
}

// planted puts files beside the entries, waits until those beside publishers are told, and lets a subscriber in.
func planted(c *table.Case, plant func(c *table.Case, folder, entry string)) {
	_, victim, other := c.Begin()
	c.Lossless()
	at, n := c.Now(), 0
	c.Must(filepath.WalkDir(c.Bus, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.Contains(path, plantedWord) {
			plant(c, filepath.Dir(path), path)
			n++
		}
		return err
	}))
	if n == 0 {
		c.Fail("no file in %s", c.Bus)
	}
	c.Note("beside %d files", n)
	strange := slices.DeleteFunc(entries(c), func(file string) bool { return !strings.Contains(file, plantedWord) })
	c.Until(fmt.Sprintf("victim told each of %d", len(strange)), found, func() bool {
		return !slices.ContainsFunc(strange, func(file string) bool { return !victim.LogHas(`"problem".*` + regexp.QuoteMeta(file)) })
	})
	c.Count("files told", len(strange))
	letIn(c, found, victim, other)
	victim.NotTold("lost", at)
	c.Finish()
}

// plantedWord is in the name of each file that is planted, and in no other.
const plantedWord = "planted"

// plantedName returns a name like that of an entry.
func plantedName(entry string, i int) string {
	base := filepath.Base(entry)
	stem, extension, _ := strings.Cut(base, ".")
	if extension != "" {
		extension = "." + extension
	}
	return stem[:min(3, len(stem))] + plantedWord + strconv.Itoa(i) + extension
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
