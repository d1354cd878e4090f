// SPDX-License-Identifier: Apache-2.0

//go:build linux

package info

import (
	"bytes"
	"context"
	"errors"
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
	"tagbus/tags"
)

// folder is a directory with entries.
type folder struct {
	directory.Directory
	entries []directory.Entry
	err     error
}

func (f *folder) List() ([]directory.Entry, error) { return f.entries, f.err }

// answers are those of instances.
type answers map[string]func() state.State

func (a answers) Ask(_ context.Context, e directory.Entry, q state.Question) (state.State, error) {
	answer := a[e.Instance]
	if answer == nil {
		return state.State{}, errors.New("connection refused")
	}
	s := answer()
	s.Time = time.Now()
	s.Peers = s.Peers[:min(q.Peers, len(s.Peers))]
	if q.Busiest == 0 {
		s.Busiest = nil
	}
	for _, t := range s.Asked {
		if !q.Tags.Contains(t.Tag) {
			s.Asked = nil
		}
	}
	return s, nil
}

var (
	began = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // when a bubble begins
	some  = func(x float64) *float64 { return &x }
)

func entry(instance, name, set string) directory.Entry {
	parsed, err := tags.ParseSet(set)
	if err != nil {
		panic(err)
	}
	return directory.Entry{
		Instance: instance, Name: name, Host: "host-1", PID: 4711, Backend: "tcp", Tags: parsed,
		Addresses: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.7:5000"), netip.MustParseAddrPort("127.0.0.1:5000")},
		PageBytes: 1 << 16, MaxMessageBytes: 1 << 20, Since: began.Add(-time.Hour),
	}
}

// felix is the state of a publisher with two subscribers, of which one is stalled and
// loses.
func felix() state.State {
	n := 10 + 1000*uint64(time.Since(began)/time.Second)
	losses := []state.Loss{{Cause: state.Full, Messages: 1234, First: began.Add(-time.Minute), Last: began.Add(-time.Second)}, {Cause: state.Memory, Messages: 1}}
	return state.State{
		Role: state.Publisher, Instance: "A1", Name: "felix-07", Host: "host-1", PID: 4711, Since: began.Add(-time.Hour),
		Program: "v0.4.0", Go: "go1.26.8", Messages: n, PayloadBytes: 100 * n, LeftOut: 3, Losses: losses,
		Connected: 2, Stalled: 1, Fullest: 0.97,
		Sending: &state.Sending{QueueBytes: 4 << 20, Refusals: 7, Streams: 2, PoolPages: 512, PoolFreePages: 400, PoolMinFreePages: 300, CachedMessages: 16, CachedBytes: 1 << 20, CacheLimitBytes: 64 << 20},
		Peers: []state.Peer{
			{
				Instance: "S1", Name: "daq", Host: "host-2", PID: 99, Backend: "tcp", StalledSince: began.Add(-30 * time.Second), Heard: began.Add(-31 * time.Second), RoundTrip: 0.0005,
				QueueLimit: new(8 << 20), Queued: new(4 << 20), Lanes: []state.Lane{
					{Policy: "block", Queued: 4 << 20, QueueLimit: 4 << 20, Messages: 10},
					{Policy: "drop-newest", QueueLimit: 4 << 20, Messages: 20, Losses: losses, Wanted: []tags.Tag{0x100}},
				},
			},
			{Instance: "S2", Host: "host-3", PID: 5, Backend: "shm", Queued: new(0), QueueLimit: new(1 << 20), Lanes: []state.Lane{{Policy: "latest", QueueLimit: 1 << 20, Messages: 5, LeftOut: 3, Wanted: []tags.Tag{0x100}}}},
		},
		Gone:      []state.Peer{{Instance: "S0", Name: "daq\x1b[2J", Host: "host-2", PID: 98, Messages: 7, Unconfirmed: 98, Losses: []state.Loss{{Cause: state.Connection, Messages: 2}}}},
		KnownTags: 3,
		Busiest:   []state.Tag{{Tag: 0x100, Messages: 6, PayloadBytes: 600, MessageRate: some(1000), ByteRate: some(1e5), Last: began, Peers: 2}, {Tag: 0x101, Messages: 1, LossesUnknown: true}},
		Asked:     []state.Tag{{Tag: 0x100, Messages: 6, PayloadBytes: 600, MessageRate: some(1000), ByteRate: some(1e5), Last: began, Peers: 2}},
	}
}

// looked returns what info writes.
func looked(t *testing.T, of string, asJSON bool, f *folder, a answers) (out, notes string, err error) {
	t.Helper()
	var o, n bytes.Buffer
	l := &looker{
		of: of, dir: f, watcher: overview.New(f, a),
		env: &tool.Env{Flags: &tool.Flags{Bus: "/run/bus", Timeout: time.Second, JSON: asJSON}, Streams: cli.Streams{Out: &o, Err: &n}},
	}
	err = l.look(t.Context(), &o)
	return o.String(), n.String(), err
}

func bus() (*folder, answers) {
	other := entry("C3", "front", "0x100")
	receiver := entry("R1", "front", "0x200")
	motor := entry("R2", "motor", "0x400")
	receiver.Role, motor.Role = directory.Receiver, directory.Receiver
	f := &folder{entries: []directory.Entry{entry("A1", "felix-07", "0x100-0x10f"), entry("B2", "felix-08", "0x100"), other, receiver, motor}}
	return f, answers{"A1": felix, "C3": func() state.State {
		return state.State{Role: state.Publisher, Instance: "C3", Name: "front", Host: "host-1", Sending: &state.Sending{}, Peers: []state.Peer{{Instance: "S3", Name: "mon"}}}
	}, "R2": func() state.State { // which knows no queue of its sender, nor what is sent again for it
		return state.State{
			Role: state.Receiver, Instance: "R2", Name: "motor", Host: "host-1", PID: 4711, Since: began.Add(-time.Hour), Messages: 12, Receiving: new(state.Receiving),
			Connected: 1, Peers: []state.Peer{{Instance: "S4", Name: "control", Messages: 12, Path: &state.Path{Segments: 3}}},
			Asked: []state.Tag{{Tag: 0x400, Messages: 12}},
		}
	}}
}

func TestInfo(t *testing.T) {
	tests := []struct{ of, out, notes, err string }{
		{"felix-07", `
felix-07: publisher on host-1, pid 4711
  instance     A1
  version      v0.4.0, go1.26.8
  running      for 1h0m, since 1999-12-31 23:00:00
  listed       1999-12-31 23:00:00, 1h0m ago
  address      10.0.0.7:5000, 127.0.0.1:5000 over tcp
  tags         0x0000000000000100-0x000000000000010f
  sizes        pages of 64.0 KiB, messages up to 1.00 MiB
  messages     1,010, 1.00 k/s
  payload      101 kB, 100 kB/s
  lost         1,234 full, 1 memory
  left out     3 messages by the policies latest and sample, on purpose
  queue        4.00 MiB for each peer and policy, the fullest is 97 % full
  refused      7 times without room for a message
  streams      2
  pool         512 pages, 400 free, at least 300 in the last minute
  cache        16 messages, 1.00 MiB of 64.0 MiB
  subscribers  2, 1 of them stalled: they take nothing

SUBSCRIBER  HOST    PID  VIA  POLICY          QUEUE     LIMIT  SENT  LEFT-OUT   LOST  UNCONFIRMED  STALLED  HEARD        RTT  RESENT
daq         host-2   99  tcp  block        4.00 MiB  4.00 MiB    10         0      0            0  31s      32s ago  0.50 ms       -
daq         host-2   99  tcp  drop-newest       0 B  4.00 MiB    20         0  1,235            0  31s      32s ago  0.50 ms       -
S2          host-3    5  shm  latest            0 B  1.00 MiB     5         3      0            0  -        -              -       -

LOST TO SUBSCRIBER  POLICY       CAUSE       COUNT  FIRST                LAST
daq                 drop-newest  full        1,234  1999-12-31 23:59:00  1999-12-31 23:59:59
daq                 drop-newest  memory          1  -                    -
daq\x1b[2J          -            connection      2  -                    -

GONE        HOST    PID  SENT  LOST  UNCONFIRMED  HEARD
daq\x1b[2J  host-2   98     7     2           98  -

The busiest of 3 tags:
TAG                 MESSAGES  BYTES  MSG/S  MB/S  SUBS  LEFT-OUT  LOST  LAST
0x0000000000000100         6  600 B  1,000  0.10     2         0     0  1s ago
0x0000000000000101         1    0 B      -     -     0         -     -  never
`, "", ""},
		{"motor", `
motor: receiver on host-1, pid 4711
  instance     R2
  version      , 
  running      for 1h0m, since 1999-12-31 23:00:00
  listed       1999-12-31 23:00:00, 1h0m ago
  address      10.0.0.7:5000, 127.0.0.1:5000 over tcp
  tags         0x0000000000000400
  sizes        pages of 64.0 KiB, messages up to 1.00 MiB
  messages     12, 0.00 /s
  payload      0 B, 0 B/s
  lost         none
  pages        0
  senders      1

SENDER   HOST  PID  VIA  POLICY  QUEUE  LIMIT  SENT  LEFT-OUT  LOST  UNCONFIRMED  STALLED  HEARD  RTT  RESENT
control  -       -  -    -           -      -    12         0     0            -  -        -        -       -
`, "", ""},
		{"0x400", `
0x0000000000000400

SERVED BY  MESSAGES  BYTES  MSG/S  MB/S  SUBS  LEFT-OUT  LOST  LAST
motor            12      -      -     -     -         0     0  -

Senders to motor, of whatever tag:
SENDER   HOST  PID  VIA  POLICY  QUEUE  LIMIT  SENT  LEFT-OUT  LOST  UNCONFIRMED  STALLED  HEARD  RTT  RESENT
control  -       -  -    -           -      -    12         0     0            -  -        -        -       -
`, "", ""},
		{"B2", `
felix-08: publisher on host-1, pid 4711
  instance     B2
  listed       1999-12-31 23:00:00, 1h0m ago
  address      10.0.0.7:5000, 127.0.0.1:5000 over tcp
  tags         0x0000000000000100
  sizes        pages of 64.0 KiB, messages up to 1.00 MiB
`, "", "B2 could not be asked: connection refused"},
		{"front", `
INSTANCE  ROLE       HOST     PID
C3        publisher  host-1  4711
R1        receiver   host-1  4711
`, "2 are called front: name one of them by its instance\n", "status 2"},
		{"0x100", `
0x0000000000000100
  publishers   3: each numbers its messages for itself, and subscribers get those of all

SERVED BY  MESSAGES  BYTES  MSG/S  MB/S  SUBS  LEFT-OUT  LOST  LAST
felix-07          6  600 B  1,000  0.10     2         0     0  1s ago
felix-08          -      -      -     -     -         -     -  -
front             0    0 B      -     -     0         0     0  never

felix-08 could not be asked: connection refused

Subscribers of it at felix-07:
SUBSCRIBER  HOST    PID  VIA  POLICY       QUEUE     LIMIT  SENT  LEFT-OUT   LOST  UNCONFIRMED  STALLED  HEARD        RTT  RESENT
daq         host-2   99  tcp  drop-newest    0 B  4.00 MiB    20         0  1,235            0  31s      32s ago  0.50 ms       -
S2          host-3    5  shm  latest         0 B  1.00 MiB     5         3      0            0  -        -              -       -
`, "", ""},
		{"daq", `
daq: subscriber on host-2, pid 99
  instance     S1
  known        by what it is connected to, which is below: it has no entry in /run/bus

PUBLISHER  HOST     PID  VIA  POLICY          QUEUE     LIMIT  SENT  LEFT-OUT   LOST  UNCONFIRMED  STALLED  HEARD        RTT  RESENT
felix-07   host-1  4711  tcp  block        4.00 MiB  4.00 MiB    10         0      0            0  31s      32s ago  0.50 ms       -
felix-07   host-1  4711  tcp  drop-newest       0 B  4.00 MiB    20         0  1,235            0  31s      32s ago  0.50 ms       -

LOST BY PUBLISHER  POLICY       CAUSE   COUNT  FIRST                LAST
felix-07           drop-newest  full    1,234  1999-12-31 23:59:00  1999-12-31 23:59:59
felix-07           drop-newest  memory      1  -                    -
`, "", ""},
		{"S0", `
"daq\x1b[2J": subscriber on host-2, pid 98
  instance     S0
  gone         this is what is remembered of it

PUBLISHER  HOST     PID  VIA  POLICY  QUEUE  LIMIT  SENT  LEFT-OUT  LOST  UNCONFIRMED  STALLED  HEARD  RTT  RESENT
felix-07   host-1  4711  -    -           -      -     7         0     2           98  -        -        -       -

LOST BY PUBLISHER  POLICY  CAUSE       COUNT  FIRST  LAST
felix-07           -       connection      2  -      -
`, "", ""},
		{"felix", "\n", "", "nothing in /run/bus is called felix, and it is no tag: tagbus ls --role all lists what there is (2 of 5 could not be asked for theirs)"},
		{"felix-09", "\n", "", "nothing in /run/bus is called felix-09: did you mean felix-07 or felix-08? (2 of 5 could not be asked for theirs)"},
		{"dac", "\n", "", "nothing in /run/bus is called dac: did you mean daq? (2 of 5 could not be asked for theirs)"},
		{"0x300", "\n", "", "no publisher or receiver in /run/bus has the tag 0x0000000000000300"},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			f, a := bus()
			out, notes, err := looked(t, test.of, false, f, a)
			text := ""
			if err != nil {
				text = cli.Text(err)
			}
			if want := strings.TrimPrefix(test.out, "\n"); out != want || notes != test.notes || text != test.err {
				t.Errorf("%s: got\n%s%s(%s), want\n%s%s(%s)", test.of, out, notes, text, want, test.notes, test.err)
			}
			if test.of == "front" && tool.Code(err) != 2 {
				t.Errorf("%s: got status %d, want 2", test.of, tool.Code(err))
			}
		})
	}
}

func TestInfoIsJSON(t *testing.T) {
	tests := []struct{ of, begin string }{
		{"felix-07", `{"state_version":0,"time":"2000-01-01T00:00:01Z","role":"publisher","instance":"A1","name":"felix-07",`},
		{"felix-08", `{"role":"publisher","instance":"B2","name":"felix-08","host":"host-1","pid":4711,"error":"connection refused"}` + "\n"},
		{"front", `{"role":"publisher","instance":"C3","name":"front","host":"host-1","pid":4711}` + "\n" + `{"role":"receiver","instance":"R1",`},
		{"0x100", `{"role":"publisher","instance":"A1","name":"felix-07","host":"host-1","tag":"0x0000000000000100","messages":6,"payload_bytes":600,"last":"2000-01-01T00:00:00Z","subscribers":2,"messages_per_second":1000,"payload_bytes_per_second":100000}` + "\n" + `{"role":"publisher","instance":"B2","name":"felix-08","host":"host-1","tag":"0x0000000000000100","messages":0,"payload_bytes":0,"subscribers":0,"error":"connection refused"}` + "\n"},
		{"S2", `{"role":"subscriber","publisher_instance":"A1","publisher":"felix-07","gone":false,"instance":"S2","host":"host-3","pid":5,`},
	}
	for _, test := range tests {
		synctest.Test(t, func(t *testing.T) {
			f, a := bus()
			out, _, _ := looked(t, test.of, true, f, a)
			if !strings.HasPrefix(out, test.begin) {
				t.Errorf("%s: got\n%s, want it to begin with\n%s", test.of, out, test.begin)
			}
		})
	}
}

func TestInfoOfABusThatIsNotThere(t *testing.T) {
	_, _, err := looked(t, "x", false, &folder{err: file.ErrVanished}, nil)
	if want := "--bus: there is no folder /run/bus: check the path, or start a publisher with it, which makes it"; err == nil || err.Error() != want {
		t.Errorf("missing: got %v, want %s", err, want)
	}
	_, _, err = looked(t, "x", false, new(folder), nil)
	if want := "nothing in /run/bus is called x: it is empty. Start a publisher, or a receiver, with the same --bus"; err == nil || err.Error() != want {
		t.Errorf("empty: got %v, want %s", err, want)
	}
}

// TestWhatHasGoneIsNotUnknown: a bus was called empty, and a publisher unknown, that had been killed
// a moment before.
func TestWhatHasGoneIsNotUnknown(t *testing.T) {
	dead := []overview.Dead{{Entry: directory.Entry{Instance: "D1", Name: "felix-09", Host: "pc-1"}, Since: began.Add(-time.Minute), Why: "its process has ended and has left its entry"}}
	for of, want := range map[string]string{
		"felix-09": "felix-09 is not there any more: felix-09 on pc-1: it has gone without a word since ",
		"D1":       "D1 is not there any more: felix-09 on pc-1: it has gone without a word since ",
		"x":        "nothing in /run/bus is called x: it has no program that lives. felix-09 on pc-1: it has gone without a word since ",
	} {
		l := &looker{of: of, env: &tool.Env{Flags: &tool.Flags{Bus: "/run/bus"}}}
		if err := l.nothing(nil, overview.Overview{Time: began, Dead: dead}); err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "empty") {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
