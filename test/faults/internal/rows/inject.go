// SPDX-License-Identifier: Apache-2.0

//go:build linux

package rows

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tagbus/test/faults/internal/bed"
	"tagbus/test/faults/internal/table"
)

// timeout is that of the heartbeats of the load, and tick how much later the end may come.
const (
	timeout = 3 * time.Second
	tick    = time.Second
)

// rule makes the firewall of a host do something to what comes from the wire ("input"), or goes to it ("output"):
// "drop", "numgen random mod 100 < 10 drop". It returns what ends that.
func rule(c *table.Case, h bed.Host, hooks, what string) (heal func()) {
	text := "add table inet faults;"
	for hook := range strings.FieldsSeq(hooks) {
		side := map[string]string{"input": "iifname", "output": "oifname"}[hook]
		text += fmt.Sprintf("add chain inet faults %s { type filter hook %s priority 0; }; add rule inet faults %s %s wire %s;", hook, hook, hook, side, what)
	}
	c.Must(c.On(h, "nft", text))
	return func() { c.Must(c.On(h, "nft", "delete table inet faults")) }
}

// injected stands before a program whose system calls fail: "memfd_create:error=EPERM".
func injected(c *table.Case, what string) []string {
	call, _, _ := strings.Cut(what, ":")
	return []string{"strace", "-DD", "-f", "-qq", "-o", filepath.Join(c.Dir, "calls"), "-e", "trace=" + call, "-e", "signal=none", "-e", "inject=" + what}
}

// failed notes how many calls of the program of injected have failed. A case in which none did is broken.
func failed(c *table.Case) {
	text, err := os.ReadFile(filepath.Join(c.Dir, "calls"))
	c.Must(err)
	n := strings.Count(string(text), "(INJECTED)")
	c.Note("%d calls failed", n)
	if n == 0 {
		c.Fail("no call has failed")
	}
}

// mounted stands before a program in a mount namespace of its own, in which something is done.
func mounted(script string) []string {
	return []string{"unshare", "--mount", "--", "sh", "-c", script + ` && exec "$@"`, "sh"}
}

// rss returns the resident memory of a process.
func rss(c *table.Case, p *table.Program) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.PID()))
	c.Must(err)
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	c.Must(err)
	return pages * int64(os.Getpagesize())
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

// memory notes how a process has grown, and fails beyond a bound.
func memory(c *table.Case, p *table.Program, before int64, bound int64) {
	grown := rss(c, p) - before
	c.Note("%s grew by %d MiB (%d MiB)", p.Name, grown>>20, bound>>20)
	if grown > bound {
		c.Fail("%s grew by %d MiB, promised at most %d", p.Name, grown>>20, bound>>20)
	}
}

// lacksNetem returns why the kernel cannot delay packets, or "".
func lacksNetem() string {
	name := fmt.Sprintf("tbfault-%d-netem", os.Getpid())
	if exec.Command("ip", "netns", "add", name).Run() != nil {
		return "needs the right to make network namespaces"
	}
	defer func() { _ = exec.Command("ip", "netns", "del", name).Run() }()
	if exec.Command("tc", "-n", name, "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms").Run() != nil {
		return "needs a kernel with netem: the virtual machine of make verbs has one, and runs the tests of the backends"
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
