// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/testkit"
)

// ill returns a bus with a warning, a note, and a name that monitoring systems would cut.
func ill() *seen {
	s := healthy()
	s.entries[1] = entryOf(2, "0x1f")
	s.entries[1].Entry.Name = "a|b"
	s.host.congestion = "bbr"
	return s
}

func TestWhatIsPrinted(t *testing.T) {
	const two = `  warning: two-publishers: felix-1 on pc-1: it and a|b on pc-2 (I2) both publish 0x000000000000001f: subscribers get these tags from one of them, or twice
      do: stop one of them, or give each its own tags
`
	const note = `  note: congestion-control: net.ipv4.tcp_congestion_control: it is bbr, which paces what is sent: on some networks another one carries more; within a host the bus does not use it
      do: measure cubic on this network: tcp.Config.CongestionControl, or the sysctl
`
	const last = "WARNING - 1 warning (two-publishers), 1 note (congestion-control), 2 of 2 entries answered\n"
	tests := []struct {
		name   string
		c      Command
		asJSON bool
		want   string
	}{
		{"all", Command{Verbose: true}, false, `folder
  ok: /bus: it can be read and written; 2 names in 3ms
entries
  ok: /bus: 2 entries of publishers and receivers, all renewed
addresses
  ok: /bus: 2 entries answer at every address, in 2ms at most
answers
  ok: /bus: 2 instances answer; clocks agree
path
  ok: /bus: messages of 16 KiB reach 2 instances of other hosts
flow
  ok: /bus: no program stalls, and nothing was lost while this command looked
tags
` + two + `host
  ok: this host: its limits suffice for 2 entries
` + note + last},
		{"what is wrong, each by itself", Command{Verbose: true, Quiet: true}, false, "tags\n" + two + "host\n" + note + last},
		{"what is wrong", Command{}, false, two + note + last},
		{"for a monitoring system", Command{Nagios: true}, false, last + strings.ReplaceAll(two, "|", "/") + note},
		{"JSON", Command{Quiet: true}, true, `{"level":"warning","group":"tags","id":"two-publishers","about":"felix-1 on pc-1","instance":"I1","text":"it and a|b on pc-2 (I2) both publish 0x000000000000001f: subscribers get these tags from one of them, or twice","do":"stop one of them, or give each its own tags"}
{"level":"note","group":"host","id":"congestion-control","about":"net.ipv4.tcp_congestion_control","text":"it is bbr, which paces what is sent: on some networks another one carries more; within a host the bus does not use it","do":"measure cubic on this network: tcp.Config.CongestionControl, or the sysctl"}
`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := ill()
			var out bytes.Buffer
			testkit.Must(t, test.c.write(&out, test.asJSON, s, judge(s)))
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestWhatHasChangedIsPrinted(t *testing.T) {
	before, s := healthy(), healthy()
	before.entries[0].Entry.Name = before.entries[1].Entry.Name // a note that goes
	before.folder.took = time.Second                            // a warning that stays, with another text
	s.folder.took = 2 * time.Second
	s.entries[0].Ended, s.entries[0].silent = true, time.Minute
	now := judge(s)
	var out bytes.Buffer
	testkit.Must(t, writeChanges(&out, false, changes(noon, judge(before), now), summary(s, now)))
	want := `2026-11-23T12:00:00Z WARNING - 2 warnings (stale-entry, folder-slow), 2 of 2 entries answered
  gone note: same-name: felix-2: 2 instances have this name: I1, I2
      do: give each a --name of its own, so that operators can tell them apart
  new warning: stale-entry: felix-1 on pc-1: its process 101 has ended and has left the entry, 1m0s ago: programs of other hosts dial it without success
      do: look why it did not end in order; I1.jsonl is removed by itself after 10 minutes, or by you now
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	out.Reset()
	if err := writeChanges(&out, false, changes(noon, now, now), ""); err != nil || out.Len() > 0 {
		t.Errorf("got %q, %v, want nothing of what has not changed", out.String(), err)
	}
	if err := writeChanges(&out, true, changes(noon, nil, now[len(now)-1:]), ""); err != nil || out.Len() > 0 {
		t.Errorf("got %q, %v, want nothing of what is ok", out.String(), err)
	}
	if err := writeChanges(&out, true, changes(noon, now[:1], nil), ""); err != nil || out.Len() > 0 {
		if !strings.HasPrefix(out.String(), `{"time":"2026-11-23T12:00:00Z","change":"gone","level":"warning","group":"folder","id":"folder-slow",`) {
			t.Errorf("got %q, %v, want that the folder is not slow any more", out.String(), err)
		}
	}
}

// TestAnotherFaultOfTheSameKindIsNew, as another cause of losses, another program with the same tags, or another address.
func TestAnotherFaultOfTheSameKindIsNew(t *testing.T) {
	lossy := func(c state.Cause) func(*findings) {
		end := overview.End{Instance: "S1", Name: "monitor"}
		return func(f *findings) {
			f.judged(&overview.Problem{Level: Warning, ID: overview.Losing, Cause: c, Count: 5, Culprit: end, Witness: overview.End{Instance: "P1"}})
		}
	}
	address := func(addr string) func(*findings) {
		e := entryOf(1, "5")
		return func(f *findings) {
			f.greet(new(seen), &e, greetSeen{addr: netip.MustParseAddrPort(addr), done: true, err: syscall.ECONNREFUSED})
		}
	}
	owner := func(n int) func(*findings) {
		return func(f *findings) {
			f.all = append(f.all, judgeTags(&seen{entries: []entrySeen{entryOf(1, "5"), entryOf(n, "5")}})[0])
		}
	}
	for i, c := range [][2]func(*findings){{lossy(state.Full), lossy(state.Connection)}, {address("10.0.0.1:7"), address("10.0.0.2:7")}, {owner(2), owner(3)}} {
		f := new(findings)
		c[0](f)
		before := slices.Clone(f.all)
		c[0](f)
		if found := changes(noon, before, f.all); len(found) > 0 {
			t.Errorf("%d: got %v, want nothing new", i, found)
		}
		c[1](f)
		if found := changes(noon, before, f.all); len(found) != 1 || found[0].Change != "new" {
			t.Errorf("%d: got %v, want the new one", i, found)
		}
		if found := changes(noon, ofCulprits(before), ofCulprits(f.all)); i == 0 && len(found) != 1 {
			t.Errorf("culprits: got %v, want the new one", found)
		}
	}
}

func TestTheStatusIsThatOfAMonitoringPlugin(t *testing.T) {
	for level, want := range map[Level]int{OK: 0, Note: 0, Warning: 1, Error: 2} {
		err := statusOf([]Finding{{Level: OK}, {Level: level}, {Level: OK}})
		if got := tool.Code(err); got != want {
			t.Errorf("%v: got %d, want %d", level, got, want)
		}
	}
}

func TestFlagsThatMakeNoSense(t *testing.T) {
	for want, c := range map[string]Command{
		"--expiry: got -1s, want more than 0":         {Expiry: new(-time.Second)},
		"--nagios is for one look: leave --watch out": {Expiry: new(time.Second), Nagios: true, Watch: 1},
		"": {Expiry: new(time.Second), Nagios: true, Quiet: true},
	} {
		got := ""
		if err := c.Check(); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	c := Command{Nagios: true}
	usage := (*cli.UsageError)(nil)
	if err := c.Run(t.Context(), &tool.Env{Flags: &tool.Flags{JSON: true}}); !errors.As(err, &usage) || err.Error() != "--nagios is text: leave --json out" {
		t.Errorf("got %v, want a usage error", err)
	}
}
