// SPDX-License-Identifier: Apache-2.0

//go:build linux

package list

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
	"tagbus/bus/state"
	"tagbus/cmd/internal/cli"
	"tagbus/cmd/internal/overview"
	"tagbus/cmd/internal/tool"
	"tagbus/internal/testkit"
	"tagbus/tags"
)

// folder is a directory with entries.
type folder struct {
	directory.Directory
	entries []directory.Entry
	err     error
	looks   int
}

func (f *folder) List() ([]directory.Entry, error) {
	f.looks++
	return f.entries, f.err
}

// grown are instances that publish so many messages of 1,000 bytes each second.
type grown map[string]uint64

var began = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when a bubble begins

func (g grown) Ask(_ context.Context, e directory.Entry, _ state.Question) (state.State, error) {
	rate, ok := g[e.Instance]
	if !ok {
		return state.State{}, errors.New("dial tcp 10.0.0.9:7: connection refused\n\x1b[2J")
	}
	n := 5 + rate*uint64(time.Since(began)/time.Second)
	s := state.State{Time: time.Now(), Instance: e.Instance, Messages: n, PayloadBytes: 1000 * n, Connected: int(rate % 7)}
	s.ByBackend = []state.BackendCount{{Backend: "tcp", Connected: s.Connected}}
	if rate > 1000 {
		s.ByBackend = []state.BackendCount{{Backend: "shm", Connected: 3}, {Backend: "tcp", Connected: 1}}
		s.Losses = []state.Loss{{Cause: state.Full, Messages: 1234}, {Cause: state.Memory, Messages: 1}}
	}
	return s, nil
}

// announced returns an entry that was announced before the bubble began.
func announced(instance, name, host, set string, role directory.Role, before time.Duration) directory.Entry {
	parsed, err := tags.ParseSet(set)
	if err != nil {
		panic(err)
	}
	return directory.Entry{
		Instance: instance, Name: name, Host: host, PID: 4711, Backend: "tcp", Role: role, Tags: parsed,
		Addresses: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.7:5000")},
		PageBytes: 1 << 16, MaxMessageBytes: 1 << 20, Since: began.Add(-before),
	}
}

func three() *folder {
	f := &folder{entries: []directory.Entry{
		announced("a1", "felix-07", "host-1", "0x100-0x10f", directory.Publisher, 3*time.Minute+12*time.Second),
		announced("b2", "", "host-2", "5", directory.Receiver, time.Second),
		announced("c3", "front", "host-2", "0x100", directory.Publisher, 49*time.Hour),
	}}
	f.entries[0].Ways = []directory.Way{{Backend: "shm", Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.1.2.3:7")}}}
	f.entries[1].Addresses = append(f.entries[1].Addresses, netip.MustParseAddrPort("[fd00::1]:5000"))
	return f
}

// listed returns what a command with some flags writes in one look.
func listed(t *testing.T, c Command, asJSON bool, f *folder, asker overview.Asker) (out, notes string, err error) {
	t.Helper()
	if c.Sort == "" {
		c.Sort = "name"
	}
	testkit.Must(t, c.Check())
	var o, n bytes.Buffer
	env := &tool.Env{
		Flags:   &tool.Flags{Bus: "/run/bus", Timeout: time.Second, JSON: asJSON},
		Streams: cli.Streams{Out: &o, Err: &n},
	}
	l := &lister{Command: &c, env: env}
	look := func() overview.Overview { return entriesOf(f) }
	if c.verbose() {
		w := overview.New(f, asker)
		look = func() overview.Overview { return l.ask(t.Context(), w) }
	}
	err = l.show(&o, look())
	return o.String(), n.String(), err
}

func TestList(t *testing.T) {
	set, err := tags.ParseSet("0x100")
	testkit.Must(t, err)
	asker := grown{"a1": 1250, "c3": 20}
	tests := []struct {
		name       string
		command    Command
		out, notes string
	}{
		{"all", Command{}, `
NAME      ROLE       HOST     PID  BACKEND  ADDRESS           TAGS                                   SINCE
b2        receiver   host-2  4711  tcp      10.0.0.7:5000 +1  0x0000000000000005                     1s ago
felix-07  publisher  host-1  4711  shm,tcp  10.0.0.7:5000     0x0000000000000100-0x000000000000010f  3m12s ago
front     publisher  host-2  4711  tcp      10.0.0.7:5000     0x0000000000000100                     2d1h ago
`, ""},
		{"with what they say", Command{Verbose: true}, `
NAME      ROLE       HOST     PID  SUBS  MSG/S  MB/S   LOST  RESENT  VIA          BACKEND  ADDRESS           TAGS                                   SINCE
b2        receiver   host-2  4711     -      -     -      -       -  -            tcp      10.0.0.7:5000 +1  0x0000000000000005                     2s ago
felix-07  publisher  host-1  4711     4  1,250  1.25  1,235       -  shm=3,tcp=1  shm,tcp  10.0.0.7:5000     0x0000000000000100-0x000000000000010f  3m13s ago
front     publisher  host-2  4711     6   20.0  0.02      0       -  tcp          tcp      10.0.0.7:5000     0x0000000000000100                     2d1h ago
`, `b2 on host-2 could not be asked: dial tcp 10.0.0.9:7: connection refused; \x1b[2J` + "\n"},
		{"those with a tag, of a host", Command{Tags: set, Host: "*-2"}, `
NAME   ROLE       HOST     PID  BACKEND  ADDRESS        TAGS                SINCE
front  publisher  host-2  4711  tcp      10.0.0.7:5000  0x0000000000000100  2d1h ago
`, ""},
		{"receivers", Command{Role: "receiver"}, `
NAME  ROLE      HOST     PID  BACKEND  ADDRESS           TAGS                SINCE
b2    receiver  host-2  4711  tcp      10.0.0.7:5000 +1  0x0000000000000005  1s ago
`, ""},
		{"the first of those with names, by rate", Command{Name: "f*", Sort: "rate", Head: 1}, `
NAME      ROLE       HOST     PID  SUBS  MSG/S  MB/S   LOST  RESENT  VIA          BACKEND  ADDRESS        TAGS                                   SINCE
felix-07  publisher  host-1  4711     4  1,250  1.25  1,235       -  shm=3,tcp=1  shm,tcp  10.0.0.7:5000  0x0000000000000100-0x000000000000010f  3m13s ago
`, "1 of 2 (--head)\n"},
		{"none", Command{Name: "x"}, "\n", "none of 3 entries in /run/bus is what was asked for\n"},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			out, notes, err := listed(t, test.command, false, three(), asker)
			if want := strings.TrimPrefix(test.out, "\n"); out != want || notes != test.notes || err != nil {
				t.Errorf("%s: got\n%s%s(%v), want\n%s%s", test.name, out, notes, err, want, test.notes)
			}
		})
	}
}

// late are instances of hosts whose clock is late.
type late struct{ by time.Duration }

func (l late) Ask(_ context.Context, e directory.Entry, _ state.Question) (state.State, error) {
	if e.Role.IsClient() {
		return state.State{}, tool.ErrNoMonitor
	}
	s := state.State{Time: time.Now(), Since: e.Since.Add(l.by), Instance: e.Instance}
	if e.Instance == "a1" {
		s.Connected, s.Peers = 1, []state.Peer{{Instance: "x1", Name: "client", Since: e.Since.Add(l.by)}}
	}
	return s.Moved(-l.by), nil
}

// How long a program is there is told by the clock of its host, if that tells what it shows.
func TestSinceIsByTheClockOfTheHost(t *testing.T) {
	for _, by := range []time.Duration{0, 5 * time.Hour, -5 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			f := three()
			for i := range f.entries {
				f.entries[i].Since = f.entries[i].Since.Add(-by)
			}
			f.entries = append(f.entries, announced("x1", "client", "host-3", "5", directory.Subscriber, 30*time.Second))
			out, _, err := listed(t, Command{Verbose: true, Role: "all"}, false, f, late{by})
			if err != nil {
				t.Fatal(err)
			}
			for name, want := range map[string]string{"felix-07": "3m13s ago", "front": "2d1h ago", "b2": "2s ago", "client": "31s ago"} {
				for line := range strings.Lines(out) {
					if strings.HasPrefix(line, name+" ") && !strings.HasSuffix(line, "  "+want+"\n") {
						t.Errorf("clocks late by %v: got %swant %s", by, line, want)
					}
				}
			}
		})
	}
}

func TestListIsJSONWithTheSameRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, notes, err := listed(t, Command{Sort: "lost"}, true, three(), grown{"a1": 1250, "c3": 20})
		want := `{"role":"publisher","instance":"a1","name":"felix-07","host":"host-1","pid":4711,"backend":"tcp","addresses":["10.0.0.7:5000"],"ways":[{"backend":"shm","addresses":["127.1.2.3:7"]}],"tags":"0x0000000000000100-0x000000000000010f","tag_parts":1,"since":"1999-12-31T23:56:48Z","page_bytes":65536,"max_message_bytes":1048576,"connected_peers":4,"messages":1255,"payload_bytes":1255000,"messages_per_second":1250,"payload_bytes_per_second":1250000,"losses":[{"cause":"full","messages":1234},{"cause":"memory","messages":1}],"connected_by_backend":[{"backend":"shm","connected_peers":3},{"backend":"tcp","connected_peers":1}]}
{"role":"publisher","instance":"c3","name":"front","host":"host-2","pid":4711,"backend":"tcp","addresses":["10.0.0.7:5000"],"tags":"0x0000000000000100","tag_parts":1,"since":"1999-12-29T23:00:00Z","page_bytes":65536,"max_message_bytes":1048576,"connected_peers":6,"messages":25,"payload_bytes":25000,"messages_per_second":20,"payload_bytes_per_second":20000,"connected_by_backend":[{"backend":"tcp","connected_peers":6}]}
{"role":"receiver","instance":"b2","host":"host-2","pid":4711,"backend":"tcp","addresses":["10.0.0.7:5000","[fd00::1]:5000"],"tags":"0x0000000000000005","tag_parts":1,"since":"1999-12-31T23:59:59Z","page_bytes":65536,"max_message_bytes":1048576,"error":"dial tcp 10.0.0.9:7: connection refused; \\x1b[2J"}
`
		if out != want || notes != "" || err != nil {
			t.Errorf("got\n%s%s(%v), want\n%s", out, notes, err, want)
		}
	})
}

func TestAnEmptyBusAndAMissingOneSayWhatToDo(t *testing.T) {
	_, notes, err := listed(t, Command{}, false, new(folder), nil)
	if want := "/run/bus is empty: start a publisher, or a receiver, with the same --bus\n"; notes != want || err != nil {
		t.Errorf("empty: got %q and %v, want %q", notes, err, want)
	}
	gone := &folder{err: fmt.Errorf("x: %w", file.ErrVanished)}
	_, _, err = listed(t, Command{}, false, gone, nil)
	if want := "--bus: there is no folder /run/bus: check the path, or start a publisher with it, which makes it"; err == nil || err.Error() != want {
		t.Errorf("missing: got %v, want %s", err, want)
	}
	if tool.Code(err) != 1 {
		t.Errorf("missing: got status %d, want 1", tool.Code(err))
	}
	out, _, err := listed(t, Command{Watch: tool.Watch(time.Second)}, false, gone, nil)
	if want := "--bus: there is no folder /run/bus: check the path, or start a publisher with it, which makes it\n"; out != want || err != nil {
		t.Errorf("missing while it is watched: got %q and %v, want %q", out, err, want)
	}
	damaged := three()
	damaged.err = errors.Join(errors.New("x.jsonl: damaged"), errors.New("y.jsonl: damaged"))
	_, notes, err = listed(t, Command{}, false, damaged, nil)
	if want := "x.jsonl: damaged\ny.jsonl: damaged\n"; notes != want || err != nil {
		t.Errorf("damaged: got %q and %v, want %q", notes, err, want)
	}
}

func TestAThousandPublishersAreListedByOneLook(t *testing.T) {
	f := new(folder)
	for i := range 1000 {
		f.entries = append(f.entries, announced(fmt.Sprintf("i%d", i), fmt.Sprintf("pub-%d", i), "h", "1-16", directory.Publisher, 0))
	}
	out, _, err := listed(t, Command{}, false, f, nil)
	if n := strings.Count(out, "\n"); n != 1001 || err != nil || f.looks != 1 {
		t.Errorf("got %d lines, %v and %d looks at the folder, want 1001 and one", n, err, f.looks)
	}
}

func TestFlagsThatMakeNoSenseAreNamed(t *testing.T) {
	c := Command{Role: "observer", Name: "[", Sort: "size", Head: -1}
	want := `--role: got "observer", want publisher, receiver, subscriber, sender or all
--name: got "[", want a name with * and ?, each [ with its ]
--sort: got "size", want name, rate, bytes, lost or since
--head: got -1, want 1 or more`
	if err := c.Check(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestABusOfTheDeadIsNotEmpty: the bus was called empty a moment after its publisher was killed.
// An entry that is listed is of a program that may live: a mirror that is stopped, or a disk that is full, renews none.
func TestEntriesThatAreNotRenewedAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, written := three(), began.Add(-20*time.Second)
		var out, notes bytes.Buffer
		l := &lister{Command: &Command{Sort: "name", Name: "f*"}, env: &tool.Env{Flags: &tool.Flags{Bus: "/run/bus"}, Streams: cli.Streams{Out: &out, Err: &notes}}}
		for _, e := range f.entries {
			l.old = append(l.old, overview.Dead{Entry: e, Since: written})
		}
		if err := l.show(&out, entriesOf(f)); err != nil {
			t.Fatal(err)
		}
		want := ""
		for _, who := range []string{"felix-07 on host-1", "front on host-2"} {
			want += who + ": its entry was not renewed since " + written.Local().Format(time.DateTime) + ": it has gone, is stopped, or cannot write: tagbus ls -v asks it\n"
		}
		if notes.String() != want {
			t.Errorf("got\n%swant\n%s", notes.String(), want)
		}
	})
}

func TestABusOfTheDeadIsNotEmpty(t *testing.T) {
	var out, notes bytes.Buffer
	l := &lister{Command: &Command{Sort: "name"}, env: &tool.Env{Flags: &tool.Flags{Bus: "/run/bus"}, Streams: cli.Streams{Out: &out, Err: &notes}}}
	o := overview.Overview{Time: time.Now(), Dead: []overview.Dead{{Entry: announced("D1", "felix-09", "pc-1", "1-16", directory.Publisher, 0), Why: "its process has ended and has left its entry"}}}
	testkit.Must(t, l.show(&out, o))
	if want := "/run/bus has no program that lives\nfelix-09 on pc-1: it has gone without a word: its process has ended and has left its entry\n"; notes.String() != want {
		t.Errorf("got %q, want %q", notes.String(), want)
	}
}

// TestDamagedEntriesLeaveRoom: each of thousands of damaged entries had a line.
func TestDamagedEntriesLeaveRoom(t *testing.T) {
	damaged := three()
	var problems []error
	for i := range 4000 {
		problems = append(problems, fmt.Errorf("read Xa%d.jsonl: line 1: no JSON", i))
	}
	damaged.err = errors.Join(append(problems, errors.New("read other.jsonl: permission denied"))...)
	_, notes, err := listed(t, Command{}, false, damaged, nil)
	want := "read Xa0.jsonl: line 1: no JSON\nread Xa1.jsonl: line 1: no JSON\nread Xa2.jsonl: line 1: no JSON\nread other.jsonl: permission denied\n" +
		"3,997 more like this: read *: line *: no JSON: tagbus check -v names each\n"
	if notes != want || err != nil {
		t.Errorf("got %q and %v, want %q", notes, err, want)
	}
}
