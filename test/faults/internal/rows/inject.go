// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rows

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/test/faults/internal/bed"
	"tagbus/test/faults/internal/table"
)

// timeout is that of the heartbeats of the load, and tick how much later the end may come.
const (
	timeout = 3 * time.Second
	tick    = time.Second
)

// drop makes the firewall of a host drop what comes from the wire ("input"), or goes to it ("output"), as far as it
// matches: "numgen random mod 100 < 10". It returns what ends that, and counts what was dropped.
func drop(c *table.Case, h bed.Host, hooks, match string) (heal func()) {
	text := "add table inet faults;"
	for hook := range strings.FieldsSeq(hooks) {
		side := map[string]string{"input": "iifname", "output": "oifname"}[hook]
		text += fmt.Sprintf("add chain inet faults %s { type filter hook %s priority 0; }; add rule inet faults %s %s wire %s counter drop;", hook, hook, hook, side, match)
	}
	c.Must(c.On(h, "nft", text))
	return func() {
		text, err := c.Output(h, "nft", "list table inet faults")
		c.Must(err)
		c.Count(dropped, sum(c, `counter packets (\d+) `, text))
		c.Must(c.On(h, "nft", "delete table inet faults"))
	}
}

// dropped is what drop counts.
const dropped = "packets dropped"

// sum returns the sum of the numbers that a pattern finds in a text.
func sum(c *table.Case, pattern, text string) (n int) {
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		number, err := strconv.Atoi(match[1])
		c.Must(err)
		n += number
	}
	return n
}

// What the next functions count: how long a subscriber got no message, how long the publisher waited, and what was
// lost, of which no policy leaves any out.
const (
	pause  = "ms without a message at victim"
	waited = "ms in Publish of block"
	lost   = "messages told lost"
)

// countPause counts the longest time that the victim had to wait for a message of block.
func countPause(c *table.Case, victim *table.Program) {
	c.Count(pause, int(victim.MaxPause(1).Milliseconds()))
}

// countFull counts what shows that queues for the victim were full.
func countFull(c *table.Case, publisher, victim *table.Program) {
	c.Count(waited, int(publisher.Waited(1).Milliseconds()))
	c.Count(lost, int(victim.Lost()))
}

// full is what it takes to show that queues were full.
var full = table.Counts{waited: 1000, lost: 1}

// injected stands before a program whose system calls fail: "memfd_create:error=EPERM".
func injected(c *table.Case, what string) []string {
	call, _, _ := strings.Cut(what, ":")
	return []string{"strace", "-DD", "-f", "-qq", "-o", filepath.Join(c.Dir, "calls"), "-e", "trace=" + call, "-e", "signal=none", "-e", "inject=" + what}
}

// countFailed counts the calls of the program of injected that have failed.
func countFailed(c *table.Case) {
	text, err := os.ReadFile(filepath.Join(c.Dir, "calls"))
	c.Must(err)
	c.Count("calls failed", strings.Count(string(text), "(INJECTED)"))
}

// mounted stands before a program in a mount namespace of its own, in which something is done.
func mounted(script string) []string {
	return []string{"unshare", "--mount", "--", "sh", "-c", script + ` && exec "$@"`, "sh"}
}

// rss returns the resident memory of a process, bytes, and lets its peak begin there.
func rss(c *table.Case, p *table.Program) int64 {
	c.Must(os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.PID()), []byte("5"), 0))
	return peak(c, p)
}

// peak returns the most resident memory that a process had since rss, bytes.
func peak(c *table.Case, p *table.Program) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	c.Must(err)
	return int64(sum(c, `VmHWM:\s+(\d+) kB`, string(text))) << 10
}

// cpu returns the processor time that a process has taken.
func cpu(c *table.Case, p *table.Program) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	c.Must(err)
	_, rest, _ := strings.Cut(string(text), ") ")
	var sum int64
	for _, field := range strings.Fields(rest)[11:13] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		c.Must(err)
		sum += ticks
	}
	return time.Duration(sum) * 10 * time.Millisecond // USER_HZ is 100 on all Linux that Go runs on
}

// memory notes how a process has grown at most, and fails beyond a bound.
func memory(c *table.Case, p *table.Program, before int64, bound int64) {
	grown := peak(c, p) - before
	c.Note("%s grew by %d MiB (%d MiB)", p.Name, grown>>20, bound>>20)
	if grown > bound {
		c.Fail("%s grew by %d MiB, promised at most %d", p.Name, grown>>20, bound>>20)
	}
}

// lacksTunnels returns why packets cannot be led through a program, or "".
func lacksTunnels() string {
	if err := unix.Access("/dev/net/tun", unix.R_OK|unix.W_OK); err != nil {
		return "needs /dev/net/tun"
	}
	return ""
}

// never is the Missing of a row that this program cannot run anywhere.
func never(reason string) func() string { return func() string { return reason } }

// flow waits until messages come to all of some subscribers.
func flow(at int64, within time.Duration, programs ...*table.Program) {
	for _, p := range programs {
		p.Flows(at, within)
	}
}
