// SPDX-License-Identifier: Apache-2.0

package printer

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/cmd/internal/record"
	"tagbus/internal/testkit"
)

func TestPrint(t *testing.T) {
	header, err := record.AppendHeader(nil, record.Info{LinkType: 113, Time: time.Date(2009, 2, 13, 23, 31, 30, 5, time.UTC), Length: 1500}, 5)
	testkit.Must(t, err)
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
			p := Printer{Time: true}
			testkit.Must(t, p.Kind.UnmarshalText([]byte(test.print)))
			if got := printAll(t, p, test.headers, test.message, test.message); got != test.want+test.want {
				t.Errorf("got\n%s\nwant, twice,\n%s", got, test.want)
			}
		})
	}
}

// printAll returns what a printer prints of messages that have arrived in 2000.
func printAll(tb testing.TB, p Printer, headers bool, messages ...bus.Message) string {
	tb.Helper()
	var out bytes.Buffer
	p.To = &out
	for _, m := range messages {
		packet := record.Packet{Data: m.Data}
		if !headers {
			var err error
			if packet, err = record.Open(m.Data); err != nil {
				tb.Fatal(err)
			}
		}
		testkit.Must(tb, p.Print(Line{Message: m, Packet: packet, At: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), Delta: -1}))
	}
	return out.String()
}

// FuzzPrint: a message is one line that is safe to show, and JSON gives it back.
func FuzzPrint(f *testing.F) {
	f.Add([]byte("hello"))
	f.Add([]byte("a\x1b[2J\n\u202e\xff\u2028"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m := bus.Message{Tag: 1, Data: data}
		for _, kind := range []Kind{Hex, Text, JSON} {
			line := []byte(printAll(t, Printer{Kind: kind}, true, m))
			if n := bytes.IndexFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x202e }); n != len(line)-1 {
				t.Errorf("got %q, want a line of what can be shown", line)
			}
			if kind != JSON {
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

func TestColumns(t *testing.T) {
	at := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	m := bus.Message{Tag: 5, Counter: 7, Status: 3, Data: []byte("hello")}
	line := Line{Message: m, Packet: record.Packet{Data: m.Data}, At: at, Delta: 1500 * time.Millisecond}
	first, filed := line, line
	first.Delta, filed.File = -1, "1-0x5-7"
	for _, test := range []struct {
		name string
		p    Printer
		line Line
		want string
	}{
		{"none", Printer{Kind: Text}, line, "0x0000000000000005 7 3 5: hello"},
		{"time and delta", Printer{Kind: Text, Time: true, Delta: true}, line, "0x0000000000000005 7 3 2000-01-01T00:00:00.000000000Z +1.500000000 5: hello"},
		{"delta of the first", Printer{Kind: Hex, Delta: true}, first, "0x0000000000000005 7 3 - 5: 68656c6c6f"},
		{"tags only", Printer{Kind: Hex, TagsOnly: true}, line, "0x0000000000000005"},
		{"tags and delta", Printer{Kind: Hex, TagsOnly: true, Delta: true}, line, "0x0000000000000005 +1.500000000"},
		{"a file", Printer{Kind: Hex}, filed, "0x0000000000000005 7 3 5: 1-0x5-7"},
		{"json with delta", Printer{Kind: JSON, Delta: true}, line, `{"tag":"0x0000000000000005","counter":7,"status":3,"time":"2000-01-01T00:00:00.000000000Z","delta_seconds":1.5,"size":5,"data":"hello"}`},
		{"json with delta of the first", Printer{Kind: JSON, Delta: true}, first, `{"tag":"0x0000000000000005","counter":7,"status":3,"time":"2000-01-01T00:00:00.000000000Z","size":5,"data":"hello"}`},
		{"json of tags", Printer{Kind: JSON, TagsOnly: true}, line, `{"tag":"0x0000000000000005","counter":7,"status":3,"time":"2000-01-01T00:00:00.000000000Z","size":5}`},
		{"json of a file", Printer{Kind: JSON}, filed, `{"tag":"0x0000000000000005","counter":7,"status":3,"time":"2000-01-01T00:00:00.000000000Z","size":5,"file":"1-0x5-7"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			test.p.To = &out
			if err := test.p.Print(test.line); err != nil || out.String() != test.want+"\n" {
				t.Errorf("got %q and error %v, want %q", out.String(), err, test.want)
			}
		})
	}
}
