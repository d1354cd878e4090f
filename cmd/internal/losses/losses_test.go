// SPDX-License-Identifier: Apache-2.0

//go:build linux

package losses

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
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

func TestMain(m *testing.M) {
	time.Local = time.UTC // what is shown depends on it
	os.Exit(m.Run())
}

// folder is a directory with entries.
type folder struct {
	directory.Directory
	entries []directory.Entry
	err     error
}

func (f *folder) List() ([]directory.Entry, error) { return f.entries, f.err }

func entry(instance, name string, role directory.Role) directory.Entry {
	return directory.Entry{
		Instance: instance, Name: name, Host: "felix7", PID: 4711, Backend: "tcp", Role: role, Tags: tags.Of(1),
		Addresses: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.7:5000")}, PageBytes: 1 << 16, MaxMessageBytes: 1 << 20,
	}
}

// answers are what instances say.
type answers map[string]state.State

func (a answers) Ask(_ context.Context, e directory.Entry, q state.Question) (state.State, error) {
	s, ok := a[e.Instance]
	if !ok {
		return s, errors.New("dial tcp 10.0.0.9:7: connection refused\n\x1b[2J")
	}
	s.Instance, s.Name, s.Host, s.PID = e.Instance, e.Name, e.Host, e.PID
	if q.Peers == 0 {
		s.Peers, s.Gone = nil, nil
	}
	for _, list := range [][]state.Peer{s.Peers, s.Gone} {
		for i := range list {
			list[i].LostTags = slices.DeleteFunc(slices.Clone(list[i].LostTags), func(t state.LostTag) bool { return q.LostTags == 0 || !q.Tags.Contains(t.Tag) })
		}
	}
	s.Asked = slices.DeleteFunc(slices.Clone(s.Asked), func(t state.Tag) bool { return !q.Tags.Contains(t.Tag) })
	return s, nil
}

func day(hour, minute int) time.Time { return time.Date(2000, 1, 1, hour, minute, 0, 0, time.UTC) }

func full(n uint64, first, last time.Time) []state.Loss {
	return []state.Loss{{Cause: state.Full, Messages: n, First: first, Last: last}}
}

// three are a publisher with subscribers, one of which has gone, a receiver, and an instance
// that does not answer.
func three() (*folder, answers) {
	f := &folder{entries: []directory.Entry{
		entry("P1aaaaaaaa", "det", directory.Publisher), entry("R1aaaaaaaa", "", directory.Receiver), entry("X1aaaaaaaa", "silent", directory.Publisher),
	}}
	old := time.Date(1999, 12, 31, 23, 0, 0, 0, time.UTC)
	return f, answers{
		"P1aaaaaaaa": {
			Role: state.Publisher,
			Losses: []state.Loss{
				{Cause: state.Full, Messages: 1300, First: day(0, 1), Last: day(0, 9)},
				{Cause: state.Memory, Messages: 7, First: day(0, 2), Last: day(0, 2)},
				{Cause: state.Connection, Messages: 20, First: old, Last: old},
			},
			Peers: []state.Peer{{
				Instance: "S1aaaaaaaa", Name: "readout", Host: "felix8",
				LostTags: []state.LostTag{
					{Tag: 1, Policy: "drop-newest", Losses: []state.Loss{{Cause: state.Full, Messages: 900}}},
					{Tag: 3, Policy: "sample:10", Losses: []state.Loss{{Cause: state.Full, Messages: 300}}},
				},
				Losses: append(full(1234, day(0, 1), day(0, 9)), state.Loss{Cause: state.Memory, Messages: 7, First: day(0, 2), Last: day(0, 2)}),
				Lanes: []state.Lane{
					{Policy: "drop-newest", Losses: full(1200, day(0, 1), day(0, 9))},
					{Policy: "sample:10", Losses: append(full(34, day(0, 5), day(0, 6)), state.Loss{Cause: state.Memory, Messages: 7, First: day(0, 2), Last: day(0, 2)})},
				},
			}, {Instance: "S2aaaaaaaa", Name: "fine", Lanes: []state.Lane{{Policy: "block"}}}},
			Gone: []state.Peer{{Instance: "S3aaaaaaaa", Host: "felix9\x1b[2J", Lanes: []state.Lane{
				{Policy: "block", Losses: []state.Loss{{Cause: state.Connection, Messages: 20, First: old, Last: old}}},
			}}},
			Asked: []state.Tag{{Tag: 1, Losses: full(1000, day(0, 1), day(0, 9))}, {Tag: 3, Losses: full(300, day(0, 3), day(0, 4))}},
		},
		"R1aaaaaaaa": {
			Role: state.Receiver, Losses: []state.Loss{{Cause: state.Overflow, Messages: 5, First: day(0, 7), Last: day(0, 8)}},
			Peers: []state.Peer{{Instance: "P9aaaaaaaa", Name: "front"}},
		},
	}
}

// narrow is a terminal of so many characters.
type narrow struct {
	bytes.Buffer
	width int
}

func (n *narrow) Width() int { return n.width }

// found runs a command at ten past midnight of the first day of 2000, and returns what it
// writes.
func run(t *testing.T, c Command, asJSON bool, width int, f *folder, a answers) (out, notes string, err error) {
	t.Helper()
	if c.Sort == "" {
		c.Sort = "count"
	}
	testkit.Must(t, c.Check())
	o, n := &narrow{width: width}, new(bytes.Buffer)
	r := &reporter{Command: &c, env: &tool.Env{
		Flags: &tool.Flags{Bus: "/run/bus", Timeout: time.Second, JSON: asJSON}, Streams: cli.Streams{Out: o, Err: n},
	}}
	look := func() (found, error) { return r.readFiles() }
	if c.NeedsBus() {
		w := overview.New(f, a)
		look = func() (found, error) { return r.ask(t.Context(), w) }
	}
	all, err := look()
	if err == nil {
		err = r.show(o, all)
	}
	return o.String(), n.String(), err
}

// since returns the flag --since.
func since(t *testing.T, text string) (s Since) {
	t.Helper()
	testkit.Must(t, s.UnmarshalText([]byte(text)))
	return s
}

const silent = `silent on felix7 could not be asked: dial tcp 10.0.0.9:7: connection refused; \x1b[2J` + "\n"

func TestLossesOfTheBus(t *testing.T) {
	tests := []struct {
		name       string
		command    Command
		width      int
		out, notes string
	}{
		{"by peer and policy", Command{}, 0, `
TAG  PUBLISHER  SUBSCRIBER              POLICY       CAUSE       COUNT             FIRST              LAST
-    det        readout                 drop-newest  full        1,200  2000-01-01 00:01  2000-01-01 00:09
-    det        -                       -            full           66                 -                 -
-    det        readout                 sample:10    full           34  2000-01-01 00:05  2000-01-01 00:06
-    det        aaaaaaaa@felix9\x1b[2J  block        connection     20  1999-12-31 23:00  1999-12-31 23:00
-    det        readout                 sample:10    memory          7  2000-01-01 00:02  2000-01-01 00:02
-    -          aaaaaaaa@felix7         -            overflow        5  2000-01-01 00:07  2000-01-01 00:08
`, silent},
		{"of a tag", Command{Tags: tags.Of(3)}, 0, `
TAG                 PUBLISHER  SUBSCRIBER  POLICY     CAUSE  COUNT  FIRST  LAST
0x0000000000000003  det        readout     sample:10  full     300      -     -
`, silent},
		{"of all tags", Command{PerTag: true}, 0, `
TAG                 PUBLISHER  SUBSCRIBER  POLICY       CAUSE  COUNT             FIRST              LAST
0x0000000000000001  det        readout     drop-newest  full     900                 -                 -
0x0000000000000003  det        readout     sample:10    full     300                 -                 -
0x0000000000000001  det        -           -            full     100  2000-01-01 00:01  2000-01-01 00:09
`, silent},
		{"of a subscriber, since a time, the newest", Command{Name: "read*", Since: since(t, "2000-01-01 00:06"), Sort: "last", Head: 1}, 0, `
TAG  PUBLISHER  SUBSCRIBER  POLICY       CAUSE  COUNT             FIRST              LAST
-    det        readout     drop-newest  full   1,200  2000-01-01 00:01  2000-01-01 00:09
`, silent + "1 of 2 (--head)\n"},
		{"of none", Command{Name: "x"}, 0, "\n", silent + "none of 6 losses is what was asked for\n"},
		{"on one with less room", Command{Name: "read*"}, 68, `
TAG  PUBLISHER  SUBSCRIBER  CAUSE   COUNT              LAST
-    det        readout     full    1,200  2000-01-01 00:09
-    det        readout     full       34  2000-01-01 00:06
-    det        readout     memory      7  2000-01-01 00:02
`, silent},
		{"on a terminal without room for all columns", Command{Sort: "publisher"}, 80, `
TAG  PUBLISHER  SUBSCRIBER      POLICY       CAUSE       COUNT              LAST
-    -          aaaaaaaa@fe...  -            overflow        5  2000-01-01 00:08
-    det        readout         drop-newest  full        1,200  2000-01-01 00:09
-    det        -               -            full           66                 -
-    det        readout         sample:10    full           34  2000-01-01 00:06
-    det        aaaaaaaa@fe...  block        connection     20  1999-12-31 23:00
-    det        readout         sample:10    memory          7  2000-01-01 00:02
`, silent},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, a := three()
			out, notes, err := run(t, test.command, false, test.width, f, a)
			if want := strings.TrimPrefix(test.out, "\n"); out != want || notes != test.notes || tool.Code(err) != 1 {
				t.Errorf("got\n%s%s(%v), want\n%s%s", out, notes, err, want, test.notes)
			}
		})
	}
}

func TestLossesAreJSON(t *testing.T) {
	f, a := three()
	out, _, err := run(t, Command{Head: 4}, true, 0, f, a)
	const want = `{"publisher":{"instance":"P1aaaaaaaa","name":"det","host":"felix7","pid":4711},"subscriber":{"instance":"S1aaaaaaaa","name":"readout","host":"felix8"},"policy":"drop-newest","cause":"full","messages":1200,"first":"2000-01-01T00:01:00Z","last":"2000-01-01T00:09:00Z"}
{"publisher":{"instance":"P1aaaaaaaa","name":"det","host":"felix7","pid":4711},"cause":"full","messages":66}
{"publisher":{"instance":"P1aaaaaaaa","name":"det","host":"felix7","pid":4711},"subscriber":{"instance":"S1aaaaaaaa","name":"readout","host":"felix8"},"policy":"sample:10","cause":"full","messages":34,"first":"2000-01-01T00:05:00Z","last":"2000-01-01T00:06:00Z"}
{"publisher":{"instance":"P1aaaaaaaa","name":"det","host":"felix7","pid":4711},"subscriber":{"instance":"S3aaaaaaaa","host":"felix9\u001b[2J"},"policy":"block","cause":"connection","messages":20,"first":"1999-12-31T23:00:00Z","last":"1999-12-31T23:00:00Z"}
`
	if out != want || tool.Code(err) != 1 {
		t.Errorf("got\n%s(%v), want\n%s", out, err, want)
	}
	out, _, err = run(t, Command{Tags: tags.Of(3)}, true, 0, f, a)
	if want := `{"tag":"0x0000000000000003","publisher":{"instance":"P1aaaaaaaa","name":"det","host":"felix7","pid":4711},"cause":"full","messages":300,"first":"2000-01-01T00:03:00Z","last":"2000-01-01T00:04:00Z"}` + "\n"; out != want || tool.Code(err) != 1 {
		t.Errorf("got\n%s(%v), want\n%s", out, err, want)
	}
}

func TestABusWithoutLosses(t *testing.T) {
	one := &folder{entries: []directory.Entry{entry("P1aaaaaaaa", "det", directory.Publisher)}}
	out, notes, err := run(t, Command{}, false, 0, one, answers{"P1aaaaaaaa": {Role: state.Publisher}})
	if want := "no losses: 1 of 1 entry in /run/bus asked\n"; out != "" || notes != want || err != nil {
		t.Errorf("got %q, %q and error %v, want %q", out, notes, err, want)
	}
	many := make([]state.Tag, state.MaxTags)
	_, notes, err = run(t, Command{PerTag: true}, false, 0, one, answers{"P1aaaaaaaa": {Role: state.Publisher, KnownTags: 2000, Asked: many, Losses: full(1, day(0, 1), day(0, 1))}})
	if want := "det has 2,000 tags, of which 1024 were looked at: name some\nno losses: 1 of 1 entry in /run/bus asked\n"; notes != want || err != nil {
		t.Errorf("more tags than an answer has: got %q and error %v, want %q", notes, err, want)
	}
	_, _, err = run(t, Command{}, false, 0, &folder{err: file.ErrVanished}, nil)
	missing := (*tool.MissingError)(nil)
	if want := "--bus: there is no folder /run/bus: check the path, or start a publisher with it, which makes it"; !errors.As(err, &missing) || err.Error() != want {
		t.Errorf("no folder: got %v, want %s", err, want)
	}
	broken := errors.New("input/output error")
	if _, _, err = run(t, Command{}, false, 0, &folder{err: broken}, nil); !errors.Is(err, broken) {
		t.Errorf("a directory that is not read: got %v, want %v", err, broken)
	}
}

// counted notes what is asked for.
type counted struct {
	answers
	mu        sync.Mutex
	questions map[string][]state.Question
}

func (c *counted) Ask(ctx context.Context, e directory.Entry, q state.Question) (state.State, error) {
	c.mu.Lock()
	c.questions[e.Instance] = append(c.questions[e.Instance], q)
	c.mu.Unlock()
	return c.answers.Ask(ctx, e, q)
}

// TestOnlyThoseThatLostAreAskedForMore: looking at 1,000 publishers with 1,000 subscribers
// each would otherwise move a million peers.
func TestOnlyThoseThatLostAreAskedForMore(t *testing.T) {
	f, c := new(folder), &counted{answers: make(answers), questions: make(map[string][]state.Question)}
	const all, lossy = 1000, 400
	for i := range all {
		instance := fmt.Sprintf("P%d", i)
		f.entries = append(f.entries, entry(instance, "", directory.Publisher))
		s := state.State{Role: state.Publisher}
		if i < lossy {
			s.Losses = full(1, day(0, 1), day(0, 1))
		}
		c.answers[instance] = s
	}
	r := &reporter{Command: new(Command), env: &tool.Env{Flags: &tool.Flags{Bus: "/run/bus", Timeout: time.Minute}}}
	found, err := r.ask(t.Context(), overview.New(f, c))
	if err != nil || len(found.rows) != lossy || len(found.notes) != 0 {
		t.Errorf("got %d rows, notes %q and error %v, want %d", len(found.rows), found.notes, err, lossy)
	}
	peers := 0
	for _, questions := range c.questions {
		for i, q := range questions {
			if i == 0 && q.Peers != 0 || i > 1 {
				t.Fatalf("got questions %+v", questions)
			}
			peers += q.Peers
		}
	}
	if peers < maxPeers || peers > maxPeers+all {
		t.Errorf("got %d peers asked for, want about %d", peers, maxPeers)
	}
	if q := r.question(1); q.Peers != state.MaxPeers {
		t.Errorf("one instance: got %d peers, want %d", q.Peers, state.MaxPeers)
	}
}

// TestLossesOfFiles reads what both ends have written of the same losses, and what one end
// alone has.
func TestLossesOfFiles(t *testing.T) {
	const (
		det     = `"role":"publisher","instance":"P1aaaaaaaa","name":"det","host":"felix7","peer":{"instance":"S1aaaaaaaa","name":"readout","host":"felix8"},"policy":"drop-newest",`
		readout = `"role":"subscriber","instance":"S1aaaaaaaa","name":"readout","host":"felix8","peer":{"instance":"P1aaaaaaaa","name":"det","host":"felix7"},"policy":"drop-newest",`
		full    = `"cause":"full",`
	)
	record := func(who, tag, cause, count, first, last string) string {
		return `{"time":"2000-01-01T00:10:00Z",` + who + tag + cause + `"count":` + count + `,"first":"2000-01-01T00:` + first + `:00Z","last":"2000-01-01T00:` + last + `:00Z"}` + "\n"
	}
	tag1, tag2, many := `"tag":"0x0000000000000001",`, `"tag":"0x0000000000000002",`, `"tags":40,`
	dir := t.TempDir()
	path := func(name, text string) string {
		p := filepath.Join(dir, name)
		testkit.Must(t, os.WriteFile(p, []byte(text), 0o600))
		return p
	}
	ofPublisher := path("publisher", record(det, tag1, full, "5", "01", "02")+record(det, tag2, full, "4", "02", "03")+record(det, tag1, full, "6", "05", "06"))
	ofSubscriber := path("subscriber", record(readout, tag1, full, "11", "08", "08")+record(readout, tag2, full, "4", "08", "08")+
		record(readout, tag1, `"cause":"overflow",`, "3", "09", "09")+"{torn\n")
	own := path("own", record(det, "", `"cause":"overflow",`, "3", "08", "09")+record(det, "", `"cause":"unconfirmed",`, "9", "10", "10"))
	sums := path("sums", record(det, many, full, "15", "01", "06"))
	others := strings.Replace(det, `"peer":{"instance":"S1aaaaaaaa","name":"readout","host":"felix8"},"policy":"drop-newest",`, "", 1)
	beyond := path("beyond", record(det, tag1, full, "5", "01", "02")+record(others, many, full, "40", "02", "04"))
	other := path("other", "\x1f\x8b\x08\n{}\n")
	ofTwo := path("two", record(readout, tag1, full, "11", "08", "08")+record(strings.ReplaceAll(strings.Replace(readout, "S1", "S2", 1), `"readout"`, `"writer"`), tag1, full, "30", "08", "08"))
	tests := []struct {
		name       string
		command    Command
		out, notes string
	}{
		{"sums of peers that have told, too", Command{LossFile: []string{beyond, ofTwo}}, `
TAG                 PUBLISHER  SUBSCRIBER  POLICY       CAUSE  COUNT             FIRST              LAST
0x0000000000000001  det        writer      drop-newest  full      30  2000-01-01 00:08  2000-01-01 00:08
0x0000000000000001  det        readout     drop-newest  full      11  2000-01-01 00:08  2000-01-01 00:08
40 tags             det        -           -            full       4                 -                 -
`, ""},
		{"a file that is given twice", Command{LossFile: []string{sums, filepath.Dir(sums) + "/./sums"}}, `
TAG      PUBLISHER  SUBSCRIBER  POLICY       CAUSE  COUNT             FIRST              LAST
40 tags  det        readout     drop-newest  full      15  2000-01-01 00:01  2000-01-01 00:06
`, ""},
		{"both ends", Command{LossFile: []string{ofPublisher, ofSubscriber}}, `
TAG                 PUBLISHER  SUBSCRIBER  POLICY       CAUSE     COUNT             FIRST              LAST
0x0000000000000001  det        readout     drop-newest  full         11  2000-01-01 00:01  2000-01-01 00:06
0x0000000000000002  det        readout     drop-newest  full          4  2000-01-01 00:02  2000-01-01 00:03
0x0000000000000001  det        readout     drop-newest  overflow      3  2000-01-01 00:09  2000-01-01 00:09
`, ofSubscriber + ": 1 line passed over that are no records of losses\n"},
		{"one end", Command{LossFile: []string{ofPublisher}, Since: since(t, "2000-01-01T00:05:00Z")}, `
TAG                 PUBLISHER  SUBSCRIBER  POLICY       CAUSE  COUNT             FIRST              LAST
0x0000000000000001  det        readout     drop-newest  full       6  2000-01-01 00:05  2000-01-01 00:06
`, ""},
		{"the end that names tags", Command{LossFile: []string{sums, ofSubscriber}, Tags: tags.Of(2)}, `
TAG                 PUBLISHER  SUBSCRIBER  POLICY       CAUSE  COUNT             FIRST              LAST
0x0000000000000002  det        readout     drop-newest  full       4  2000-01-01 00:08  2000-01-01 00:08
`, ofSubscriber + ": 1 line passed over that are no records of losses\nof 15 messages that were lost the files do not have the tag\n"},
		{"sums", Command{LossFile: []string{sums}}, `
TAG      PUBLISHER  SUBSCRIBER  POLICY       CAUSE  COUNT             FIRST              LAST
40 tags  det        readout     drop-newest  full      15  2000-01-01 00:01  2000-01-01 00:06
`, ""},
		{"all of before", Command{LossFile: []string{ofPublisher}, Since: since(t, "2000-01-01T00:07:00Z")}, "\n", "no losses since then: 3 records read, 3 of them of losses before --since\n"},
		{"what a subscriber has lost itself, as both ends say", Command{LossFile: []string{own, ofSubscriber}}, `
TAG                 PUBLISHER  SUBSCRIBER  POLICY       CAUSE        COUNT             FIRST              LAST
0x0000000000000001  det        readout     drop-newest  full            11  2000-01-01 00:08  2000-01-01 00:08
-                   det        readout     drop-newest  unconfirmed      9  2000-01-01 00:10  2000-01-01 00:10
0x0000000000000002  det        readout     drop-newest  full             4  2000-01-01 00:08  2000-01-01 00:08
0x0000000000000001  det        readout     drop-newest  overflow         3  2000-01-01 00:09  2000-01-01 00:09
`, ofSubscriber + ": 1 line passed over that are no records of losses\n9 messages unconfirmed: lost or received, which their publishers did not know at their end\n"},
		{"nothing", Command{LossFile: []string{path("empty", "")}}, "\n", "no losses: 0 records read\n"},
		{"another file", Command{LossFile: []string{other}}, "\n", other + ": 2 lines passed over that are no records of losses\nno losses are known, which is not all: 0 records read\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out, notes, err := run(t, test.command, false, 0, nil, nil)
			if want := strings.TrimPrefix(test.out, "\n"); out != want || notes != test.notes || (tool.Code(err) == 1) != strings.Contains(notes, "passed over") {
				t.Errorf("got\n%s%s(%v), want\n%s%s, and status 1 if lines are passed over", out, notes, err, want, test.notes)
			}
		})
	}
	none := filepath.Join(dir, "none")
	if _, _, err := run(t, Command{LossFile: []string{none}}, false, 0, nil, nil); err == nil || err.Error() != "--loss-file: open "+none+": no such file or directory" {
		t.Errorf("no file: got %v", err)
	}
}

// A publisher whose clock is hours behind loses messages now.
func TestSinceIsByTheClockOfThePublisher(t *testing.T) {
	f, a := three()
	for _, behind := range []time.Duration{0, 3 * time.Hour, -3 * time.Hour} {
		s := a["P1aaaaaaaa"]
		s.Time = day(0, 10)
		out, _, _ := run(t, Command{Since: since(t, "5m"), Name: "det"}, true, 0, f, answers{"P1aaaaaaaa": s.Moved(-behind)})
		if n := strings.Count(out, "\n"); n != 3 {
			t.Errorf("behind by %v: got %d rows, want the 3 of the last 5 minutes, or of an unknown time: %s", behind, n, out)
		}
	}
}

func TestSince(t *testing.T) {
	now := time.Date(2026, 11, 23, 20, 0, 0, 0, time.UTC)
	tests := []struct {
		text string
		want time.Time
	}{
		{"10m", now.Add(-10 * time.Minute)},
		{"2026-11-22", time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)},
		{"2026-11-22 15:04", time.Date(2026, 11, 22, 15, 4, 0, 0, time.UTC)},
		{"2026-11-22T15:04:05", time.Date(2026, 11, 22, 15, 4, 5, 0, time.UTC)},
		{"2026-11-22T15:04:05+01:00", time.Date(2026, 11, 22, 14, 4, 5, 0, time.UTC)},
	}
	for _, test := range tests {
		if got := since(t, test.text).from(now); !got.Equal(test.want) {
			t.Errorf("%s: got %v, want %v", test.text, got, test.want)
		}
	}
	today := time.Now()
	if got, want := since(t, "00:30").from(today), time.Date(today.Year(), today.Month(), today.Day(), 0, 30, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("00:30: got %v, want %v", got, want)
	}
	for _, text := range []string{"", "yesterday", "-5m", "25:00"} {
		var s Since
		want := `"` + text + `" is no time: want 10m (ago), 15:04 (today), 2026-11-23, 2026-11-23 15:04, or RFC 3339`
		if err := s.UnmarshalText([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
	if !(Since{}).from(now).IsZero() {
		t.Error("no time: got a limit")
	}
}

func TestCheck(t *testing.T) {
	c := Command{Name: "[", Sort: "size", Head: -1, LossFile: []string{""}}
	want := "--name: got \"[\", want a name with * and ?, each [ with its ]\n--sort: got \"size\", want count, last, tag, publisher or subscriber\n--head: got -1, want 1 or more\n--loss-file: got no file, want its path"
	if err := c.Check(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if c.NeedsBus() || !new(Command).NeedsBus() {
		t.Error("a bus is needed without files, and not with some")
	}
}

// broken is an output that takes nothing.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestErrorsOfTheOutputAreReturned(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		if err := write(broken{}, asJSON, day(0, 10), []Row{{}}); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v, want %v", err, io.ErrClosedPipe)
		}
	}
	if got := clock(day(0, 10), day(0, 9)); got != "00:09:00" {
		t.Errorf("a time of today: got %s, want 00:09:00", got)
	}
}
