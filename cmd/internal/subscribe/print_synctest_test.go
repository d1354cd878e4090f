// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"bytes"
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/record"
)

// An internal test: only here is the time of receipt known.
func TestPrint(t *testing.T) {
	header, err := record.AppendHeader(nil, record.Info{LinkType: 113, Time: time.Date(2009, 2, 13, 23, 31, 30, 5, time.UTC), Length: 1500}, 5)
	if err != nil {
		t.Fatal(err)
	}
	plain := bus.Message{Tag: 0x100, Counter: 7, Status: 3, Publisher: &bus.Peer{Instance: "pub1"}, Data: []byte("hello")}
	with := func(data string) bus.Message {
		m := plain
		m.Data = []byte(data)
		return m
	}
	tests := []struct {
		name, print string
		headers     bool // left where they are
		message     bus.Message
		want        string
	}{
		{"text", "text", false, plain, "0x0000000000000100 7 3 2000-01-01T00:00:00.000000000Z 5: hello\n"},
		{"text that is none", "text", false, with("a\x1b[2J\n\xff"), `0x0000000000000100 7 3 2000-01-01T00:00:00.000000000Z 7: "a\x1b[2J\n\xff"` + "\n"},
		{"text that looks like it", "text", false, with(`"a\n"`), `0x0000000000000100 7 3 2000-01-01T00:00:00.000000000Z 5: "\"a\\n\""` + "\n"},
		{"text of a packet", "text", false, with(string(header) + "hello"), "0x0000000000000100 7 3 2000-01-01T00:00:00.000000000Z 5 (link type 113, 2009-02-13T23:31:30.000000005Z, 1500 bytes): hello\n"},
		{"no data", "text", false, with(""), "0x0000000000000100 7 3 2000-01-01T00:00:00.000000000Z 0: \n"},
		{"hex", "hex", false, plain, "0x0000000000000100 7 3 2000-01-01T00:00:00.000000000Z 5: 68656c6c6f\n"},
		{"hex of a packet", "hex", false, with(string(header) + "hello"), "0x0000000000000100 7 3 2000-01-01T00:00:00.000000000Z 5 (link type 113, 2009-02-13T23:31:30.000000005Z, 1500 bytes): 68656c6c6f\n"},
		{"hex of a message as it is", "hex", true, with(string(header)), "0x0000000000000100 7 3 2000-01-01T00:00:00.000000000Z 24: 897461676275730a01007100dc05000005b48d76f4102211\n"},
		{"json", "json", false, plain, `{"tag":"0x0000000000000100","counter":7,"status":3,"time":"2000-01-01T00:00:00.000000000Z","publisher":"pub1","size":5,"data":"hello"}` + "\n"},
		{"json of bytes", "json", false, with("\xff\x00"), `{"tag":"0x0000000000000100","counter":7,"status":3,"time":"2000-01-01T00:00:00.000000000Z","publisher":"pub1","size":2,"base64":"/wA="}` + "\n"},
		{"json that a terminal would obey", "json", false, with("a\x1b\u202e\u009b"), `{"tag":"0x0000000000000100","counter":7,"status":3,"time":"2000-01-01T00:00:00.000000000Z","publisher":"pub1","size":7,"data":"a\u001b\u202e\u009b"}` + "\n"},
		{"json of no data", "json", false, with(""), `{"tag":"0x0000000000000100","counter":7,"status":3,"time":"2000-01-01T00:00:00.000000000Z","publisher":"pub1","size":0,"data":""}` + "\n"},
		{
			"json of a packet", "json", false, with(string(header) + "hello"),
			`{"tag":"0x0000000000000100","counter":7,"status":3,"time":"2000-01-01T00:00:00.000000000Z","publisher":"pub1","packet":{"link_type":113,"time":"2009-02-13T23:31:30.000000005Z","original_length":1500},"size":5,"data":"hello"}` + "\n",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &Flags{NoRecordHeader: test.headers}
				if err := f.Print.UnmarshalText([]byte(test.print)); err != nil {
					t.Fatal(err)
				}
				if got := printAll(t, f, test.message, test.message); got != test.want+test.want {
					t.Errorf("got\n%s\nwant, twice,\n%s", got, test.want)
				}
			})
		})
	}
}

// printAll returns what an output prints of messages.
func printAll(tb testing.TB, f *Flags, messages ...bus.Message) string {
	tb.Helper()
	var out bytes.Buffer
	o, err := newOutput(f, &out)
	if err != nil {
		tb.Fatal(err)
	}
	for _, m := range messages {
		if err := o.write(m); err != nil {
			tb.Fatal(err)
		}
	}
	if err := o.flush(); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

// FuzzPrint: a message is one line that is safe to show, and JSON gives it back.
func FuzzPrint(f *testing.F) {
	f.Add([]byte("hello"))
	f.Add([]byte("a\x1b[2J\n\u202e\xff\u2028"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := bus.Message{Tag: 1, Data: data}
		for _, kind := range []Print{PrintHex, PrintText, PrintJSON} {
			line := []byte(printAll(t, &Flags{Print: kind, NoRecordHeader: true}, m))
			if n := bytes.IndexFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x202e }); n != len(line)-1 {
				t.Errorf("got %q, want a line of what can be shown", line)
			}
			if kind != PrintJSON {
				continue
			}
			var got printed
			if err := json.Unmarshal(line, &got); err != nil {
				t.Fatalf("got %q, want JSON: %v", line, err)
			}
			back := got.Base64
			if got.Data != nil {
				back = []byte(*got.Data)
			}
			if !bytes.Equal(back, data) {
				t.Errorf("got %q back from %q, want %q", back, line, data)
			}
		}
	})
}

func TestARecordHeaderOfALaterVersionIsRefused(t *testing.T) {
	for _, f := range []*Flags{{Print: PrintHex}, {Output: "-"}, {Output: "-", Record: &record.Format{Kind: record.Pcap}}} {
		o, err := newOutput(f, new(bytes.Buffer))
		if err != nil {
			t.Fatal(err)
		}
		err = o.write(bus.Message{Tag: 5, Counter: 9, Data: []byte("\x89tagbus\n\x02 and what that version may hold")})
		want := "tag 0x0000000000000005 message 9: record header that cannot be read: its version is 2.32, and this program knows 1.0: --no-record-header takes messages as they are"
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
