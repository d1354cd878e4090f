// SPDX-License-Identifier: Apache-2.0

package check

import (
	"fmt"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/bus/observer"
	"tagbus/bus/state"
	"tagbus/internal/testkit"
	"tagbus/tags"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// entryOf returns an entry of another host with which nothing is wrong, and the answers of its
// program.
func entryOf(number int, set string) entrySeen {
	instance, addr := fmt.Sprintf("I%d", number), netip.MustParseAddrPort(fmt.Sprintf("10.0.%d.%d:7000", number>>8, number&255))
	wanted, err := tags.ParseSet(set)
	if err != nil {
		panic(err)
	}
	answer := func(at time.Time) answerSeen {
		return answerSeen{at: at, took: time.Millisecond, state: &state.State{
			Version: state.Version, Time: at, Instance: instance, Program: "v1.2.0",
			Sending: &state.Sending{PoolPages: 100, PoolFreePages: 90, PoolMinFreePages: 80},
		}}
	}
	return entrySeen{
		Found: file.Found{Name: instance + ".jsonl", Beat: time.Second, Entry: directory.Entry{
			Instance: instance, Name: fmt.Sprintf("felix-%d", number), Host: fmt.Sprintf("pc-%d", number), PID: 100 + number,
			Backend: "tcp", Addresses: []netip.AddrPort{addr}, Tags: wanted,
		}},
		moved: true, silent: 400 * time.Millisecond,
		greets: []greetSeen{{addr: addr, done: true, Greeting: observer.Greeting{
			Protocol: observer.ProtocolVersion, Instance: instance, Connected: time.Millisecond, Took: 2 * time.Millisecond,
		}}},
		first: answer(noon), second: answer(noon.Add(time.Second)),
	}
}

// healthy returns a bus of two publishers with which nothing is wrong.
func healthy() *seen {
	return &seen{
		bus: "/bus", asked: true,
		us: us{host: "here", backend: "tcp", program: "v1.2.0", expiry: 5 * time.Second},
		folder: folderSeen{
			survey: file.Survey{All: true, Names: 2}, took: 3 * time.Millisecond, timed: true, about: time.Millisecond,
			system: fileSystem{free: 1 << 30, countFiles: true, freeFiles: 1 << 20},
		},
		entries: []entrySeen{entryOf(1, "0x10-0x1f"), entryOf(2, "0x20-0x2f")},
		host:    hostSeen{openFiles: 1024, lockedMemory: 8 << 20, receive: 32 << 20, send: 4 << 20, backlog: 4096, congestion: "cubic"},
	}
}

// shown returns findings as people see them.
func shown(all []Finding, with func(Finding) bool) string {
	var b strings.Builder
	for _, f := range all {
		if with(f) {
			f.writeText(&b, "")
		}
	}
	return b.String()
}

func faults(f Finding) bool { return f.Level != OK }

func TestAHealthyBusIsAllRight(t *testing.T) {
	s := healthy()
	all := judge(s)
	want := `  ok: /bus: it can be read and written; 2 names in 3ms
  ok: /bus: 2 entries of publishers and receivers, all renewed
  ok: /bus: 2 entries answer at every address, in 2ms at most
  ok: /bus: 2 instances answer; clocks agree
  ok: /bus: messages of 16 KiB reach 2 instances of other hosts
  ok: /bus: no program stalls, and nothing was lost while this command looked
  ok: /bus: no tag has two owners
  ok: this host: its limits suffice for 2 entries
`
	if diff := cmp.Diff(want, shown(all, func(Finding) bool { return true })); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got, want := summary(s, all), "OK - 2 of 2 entries answered"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := statusOf(all); err != nil {
		t.Errorf("got %v, want no status", err)
	}
}

// read returns the sections of a file: a line "== name", and the lines behind it.
func read(t *testing.T, name string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(name)
	testkit.Must(t, err)
	sections := make(map[string]string)
	for _, s := range strings.Split("\n"+string(data), "\n== ")[1:] {
		name, text, _ := strings.Cut(s, "\n")
		sections[name] = strings.TrimRight(text, "\n") + "\n"
	}
	return sections
}

// Every finding, with its exact text: testdata/findings.txt has what is found of a bus with
// which one thing is wrong.
func TestEveryFindingHasItsText(t *testing.T) {
	want := read(t, "testdata/findings.txt")
	found := make(map[string]bool)
	for _, test := range slices.Concat(wrongs, certificateWrongs, waysWrongs, contactsWrongs) {
		t.Run(test.name, func(t *testing.T) {
			s := healthy()
			test.do(s)
			all := judge(s)
			for _, f := range all {
				if f.Level != OK {
					found[f.ID] = true
				}
			}
			if diff := cmp.Diff(want[test.name], shown(all, faults)); diff != "" {
				t.Errorf("(-want +got)\n%s\ngot\n== %s\n%s", diff, test.name, shown(all, faults))
			}
			delete(want, test.name)
		})
	}
	for name := range want {
		t.Errorf("testdata/findings.txt has %q, which is no test", name)
	}
	for _, id := range ids(t) {
		if !found[id] {
			t.Errorf("no test finds %s", id)
		}
	}
}

// ids returns those that the code has, in order.
func ids(t *testing.T) (all []string) {
	t.Helper()
	id := regexp.MustCompile(`\.(?:add|of)\((?:&[\w.]+, )?(?:Note|Warning|Error|l), "([a-z-]+)"|reason\{\s*"([a-z-]+)"`)
	files, err := os.ReadDir(".")
	testkit.Must(t, err)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		data, err := os.ReadFile(f.Name())
		testkit.Must(t, err)
		for _, m := range id.FindAllStringSubmatch(string(data), -1) {
			all = append(all, m[1]+m[2])
		}
	}
	data, err := os.ReadFile("../overview/problem.go")
	testkit.Must(t, err)
	for _, m := range regexp.MustCompile(`(?m)^\t[A-Z]\w+ += "([a-z-]+)"$`).FindAllStringSubmatch(string(data), -1) {
		all = append(all, m[1])
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// The table of docs/reference.md has each id, once, and no other.
func TestTheDocumentHasEveryID(t *testing.T) {
	data, err := os.ReadFile("../../../docs/reference.md")
	testkit.Must(t, err)
	_, section, ok := strings.Cut(string(data), "\n## Findings of tagbus check\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !ok {
		t.Fatal("docs/reference.md has no section about this command")
	}
	var got []string
	for line := range strings.Lines(section) {
		if cell, _, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "` |"); ok && strings.HasPrefix(line, "| `") {
			got = append(got, strings.Split(cell, "`, `")...)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(ids(t), got); diff != "" {
		t.Errorf("ids of the code and of docs/reference.md differ (-code +document)\n%s", diff)
	}
}

// TestTheQueueOfConnectionsIsForTheLiving: the gone do not start again, and the advice is a
// value that the host does not have.
func TestTheQueueOfConnectionsIsForTheLiving(t *testing.T) {
	for _, test := range []struct {
		programs, want int
	}{{1, 4096}, {4096, 4096}, {4097, 8192}, {10000, 16384}} {
		if got := queueFor(test.programs); got != test.want || got < test.programs {
			t.Errorf("%d programs: got %d, want %d", test.programs, got, test.want)
		}
	}
}
