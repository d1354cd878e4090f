// SPDX-License-Identifier: Apache-2.0

package payload_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"tagbus/internal/payload"
)

// each is a description with each type and each property.
const each = `{"payloads": [
  {"name": "Crate", "tags": "0x10-0x1f,0x40", "fields": [
    {"name": "a", "type": "u8"},
    {"name": "b", "type": "i8"},
    {"name": "c", "type": "u16"},
    {"name": "d", "type": "i16", "endian": "big"},
    {"name": "e", "type": "u32"},
    {"name": "f", "type": "i32"},
    {"name": "g", "type": "u64"},
    {"name": "h", "type": "i64"},
    {"name": "i", "type": "f32"},
    {"name": "j", "type": "f64", "count": 2},
    {"name": "low", "type": "u8", "offset": 0, "bits": "0-3"},
    {"name": "high", "type": "u8", "offset": 0, "bits": "7"},
    {"name": "celsius", "type": "i16", "endian": "big", "offset": 4, "scale": 0.5, "add": -10, "unit": "degC"},
    {"name": "samples", "type": "u16", "offset": 50, "count": "rest", "endian": "big"}
  ]},
  {"name": "Other", "tags": "0x20", "endian": "big", "fields": [{"name": "n", "type": "u32", "offset": 2}]}
]}`

func mustParse(tb testing.TB, text string) payload.Set {
	tb.Helper()
	set, err := payload.Parse("test.json", []byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return set
}

// crate is a payload of each, with values that are hard to keep.
var crate = slices.Concat([]byte{0x85, 0xff, 0x34, 0x12, 0xff, 0xfe}, // a b c d
	[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},       // e f
	[]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},       // g
	[]byte{0, 0, 0, 0, 0, 0, 0, 0x80},                            // h
	[]byte{0, 0, 0xc0, 0x7f},                                     // i: NaN
	[]byte{0, 0, 0, 0, 0, 0, 0xf0, 0x7f, 1, 0, 0, 0, 0, 0, 0, 0}, // j: +Inf, the least above 0
	[]byte{1, 2, 3, 4})                                           // samples

func TestFieldsAsJSON(t *testing.T) {
	set := mustParse(t, each)
	p := set.Of(0x40)
	if p == nil || p != set.Of(0x10) || set.Of(0x30) != nil || set.Of(0x20).Name != "Other" {
		t.Fatalf("got %+v, want the payload of the tag", p)
	}
	if err := p.Check(crate); err != nil {
		t.Fatal(err)
	}
	got := string(p.AppendJSON(nil, crate))
	const want = `{"a":133,"b":-1,"c":4660,"d":-2,"e":4294967295,"f":-1,"g":18446744073709551615,"h":-9223372036854775808,` +
		`"i":"NaN","j":["Infinity",5e-324],"low":5,"high":1,"celsius":-11,"samples":[258,772]}`
	if got != want || !json.Valid([]byte(got)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestFieldsAsProtobuf reads them with the official library, by the descriptor.
func TestFieldsAsProtobuf(t *testing.T) {
	p := mustParse(t, each).Of(0x10)
	var files descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(p.Descriptor(), &files); err != nil {
		t.Fatal(err)
	}
	file, err := protodesc.NewFile(files.GetFile()[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	descriptor := file.Messages().ByName("Crate")
	if descriptor.FullName() != "tagbus.Crate" {
		t.Errorf("got the name %s", descriptor.FullName())
	}
	m := dynamicpb.NewMessage(descriptor)
	b := p.AppendProto(nil, &payload.Envelope{Tag: 0x10, Counter: math.MaxUint64, Status: 255, Request: []byte{1}, Data: crate}, crate)
	if err := proto.Unmarshal(b, m); err != nil {
		t.Fatal(err)
	}
	if len(m.GetUnknown()) > 0 {
		t.Errorf("got unknown fields %x", m.GetUnknown())
	}
	get := func(name string) protoreflect.Value {
		return m.Get(descriptor.Fields().ByName(protoreflect.Name(name)))
	}
	for name, want := range map[string]any{
		"tagbus_counter": uint64(math.MaxUint64), "tagbus_status": uint32(255), "tagbus_tag": uint64(0x10),
		"a": uint32(133), "b": int32(-1), "c": uint32(0x1234), "d": int32(-2), "e": uint32(math.MaxUint32), "f": int32(-1),
		"g": uint64(math.MaxUint64), "h": int64(math.MinInt64), "low": uint32(5), "high": uint32(1), "celsius": float64(-11),
	} {
		if got := get(name).Interface(); got != want {
			t.Errorf("%s: got %v (%T), want %v (%T)", name, got, got, want, want)
		}
	}
	if got := get("i").Float(); !math.IsNaN(got) {
		t.Errorf("i: got %v, want NaN", got)
	}
	if j := get("j").List(); j.Len() != 2 || !math.IsInf(j.Get(0).Float(), 1) || j.Get(1).Float() != math.SmallestNonzeroFloat64 {
		t.Errorf("j: got %v", j)
	}
	if s := get("samples").List(); s.Len() != 2 || s.Get(0).Uint() != 0x0102 || s.Get(1).Uint() != 0x0304 {
		t.Errorf("samples: got %v", s)
	}
	if string(get("tagbus_data").Bytes()) != string(crate) || string(get("tagbus_request").Bytes()) != "\x01" {
		t.Error("got other bytes")
	}
}

func TestAPayloadThatIsTooShort(t *testing.T) {
	p := mustParse(t, each).Of(0x10)
	for n := range len(crate) {
		err := p.Check(crate[:n])
		short := (*payload.ShortError)(nil)
		switch {
		case n >= 50:
			if err != nil {
				t.Errorf("%d bytes: got %v, want all fields and no more than no samples", n, err)
			}
			p.AppendJSON(nil, crate[:n])
		case !errors.As(err, &short) || !errors.Is(err, payload.ErrShort) || short.Want <= n || short.Got != n || short.Payload != "Crate":
			t.Errorf("%d bytes: got %v, want the first field that is not there", n, err)
		case n == 3 && short.Field != "c":
			t.Errorf("%d bytes: got field %s, want c", n, short.Field)
		}
	}
}

func TestWhatFieldsCover(t *testing.T) {
	field := func(fields string) *payload.Payload {
		return mustParse(t, `{"payloads":[{"name":"P","tags":"1","fields":[`+fields+`]}]}`)[0]
	}
	tests := []struct {
		name, fields string
		bytes        int
		want         bool
	}{
		{"all", `{"name":"a","type":"u32"}`, 4, true},
		{"bytes behind", `{"name":"a","type":"u32"}`, 5, false},
		{"bytes before", `{"name":"a","type":"u32","offset":1}`, 5, false},
		{"a hole", `{"name":"a","type":"u8"},{"name":"b","type":"u8","offset":2}`, 3, false},
		{"in another order", `{"name":"b","type":"u8","offset":1},{"name":"a","type":"u8","offset":0}`, 2, true},
		{"scaled", `{"name":"a","type":"u32","scale":2}`, 4, false},
		{"bits", `{"name":"a","type":"u8","bits":"0-6"}`, 1, false},
		{"all bits as a range", `{"name":"a","type":"u64","bits":"0-63"}`, 8, true},
		{"to the end", `{"name":"a","type":"u32"},{"name":"b","type":"u16","count":"rest"}`, 10, true},
		{"to the end, less than one is left", `{"name":"a","type":"u32"},{"name":"b","type":"u16","count":"rest"}`, 11, false},
		{"nothing to the end", `{"name":"a","type":"u32"},{"name":"b","type":"u16","count":"rest"}`, 4, true},
	}
	for _, test := range tests {
		p := field(test.fields)
		data := make([]byte, test.bytes)
		if err := p.Check(data); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if got := p.IsCovered(data); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func TestDescriptionsThatAreWrong(t *testing.T) {
	p := func(body string) string { return `{"payloads":[{"name":"P","tags":"1",` + "\n" + body + `}]}` }
	f := func(body string) string { return p(`"fields":[{"name":"x",` + body + `}]`) }
	tests := []struct{ name, text, want string }{
		{"nothing", ``, `test.json:1:1: the text ends early`},
		{"no JSON", "{\n \"payloads\": [}", `test.json:2:15: no JSON: `},
		{"not closed", `{"payloads": [`, `test.json:1:15: the text ends early`},
		{"another kind", `[]`, `test.json:1:1: want an object in { }`},
		{"no payloads", `{}`, `test.json:1:1: no payloads`},
		{"more behind", `{"payloads": []} x`, `test.json:1:18: no JSON: `},
		{"an unknown key", `{"payload": []}`, `test.json:1:2: "payload" is not known here: want payloads`},
		{"a key twice", `{"payloads": [], "payloads": []}`, `test.json:1:18: "payloads" is there twice`},
		{"no name", `{"payloads":[{"tags":"1"}]}`, `test.json:1:14: no name`},
		{"a bad name", `{"payloads":[{"name":"1x"}]}`, `test.json:1:22: name "1x": want letters`},
		{"a name that is taken", f(`"type":"u8"},{"name":"tagbus_data"`), `payload "P": name "tagbus_data": want letters`},
		{"no tags", `{"payloads":[{"name":"P"}]}`, `test.json:1:14: payload "P": no tags`},
		{"bad tags", `{"payloads":[{"name":"P","tags":"x"}]}`, `test.json:1:33: payload "P": tags "x": `},
		{"empty tags", `{"payloads":[{"name":"P","tags":""}]}`, `payload "P": tags ""`},
		{"a bad endian", p(`"endian":"middle","fields":[]`), `test.json:2:10: payload "P": endian "middle": want little or big`},
		{"no fields", p(`"endian":"big"`), `payload "P": no fields`},
		{"empty fields", p(`"fields":[]`), `test.json:2:10: payload "P": 0 fields, want 1 to 1024`},
		{"fields that are none", p(`"fields":3`), `test.json:2:10: payload "P": want an array in [ ]`},
		{"no type", f(`"offset":0`), `test.json:2:11: payload "P": field "x": no type`},
		{"a bad type", f(`"type":"int"`), `test.json:2:30: payload "P": field "x": type "int": want u8, u16`},
		{"a number for a text", f(`"type":8`), `field "x": want a text in quotes`},
		{"null for a text", f(`"type":null`), `field "x": want a text in quotes`},
		{"a negative offset", f(`"type":"u8","offset":-1`), `field "x": -1: want a number from 0 to 1073741824`},
		{"a broken offset", f(`"type":"u8","offset":1.5`), `field "x": 1.5: want a number`},
		{"a huge offset", f(`"type":"u8","offset":99999999999999999999`), `want a number from 0`},
		{"no count", f(`"type":"u8","count":0`), `field "x": 0: want a number from 1`},
		{"a huge count", f(`"type":"u64","count":1073741824`), `field "x": it ends at byte 8589934592, want at most 1073741824`},
		{"behind the end", p(`"fields":[{"name":"a","type":"u8","count":"rest"},{"name":"b","type":"u8"}]`), `field "b": no offset, and the field before goes to the end`},
		{"bits that are none", f(`"type":"u8","bits":"x"`), `field "x": bits "x": want FIRST-LAST or BIT, from 0 to 7`},
		{"too many bits", f(`"type":"u8","bits":"0-8"`), `bits "0-8"`},
		{"bits backwards", f(`"type":"u8","bits":"3-0"`), `bits "3-0"`},
		{"bits of a signed number", f(`"type":"i8","bits":"0"`), `bits of i8: want a type from u8 to u64`},
		{"a scale that is none", f(`"type":"i8","scale":"1"`), `scale: want a number`},
		{"an infinite scale", f(`"type":"i8","scale":1e999`), `scale: want a number`},
		{"two fields of one name", p(`"fields":[{"name":"a","type":"u8"},{"name":"a","type":"u8"}]`), `field "a": there are two of this name`},
		{"two payloads of one name", `{"payloads":[{"name":"P","tags":"1","fields":[{"name":"a","type":"u8"}]},{"name":"P","tags":"2","fields":[{"name":"a","type":"u8"}]}]}`, `payload "P": there are two of this name`},
		{"a tag in two payloads", `{"payloads":[{"name":"P","tags":"1-9","fields":[{"name":"a","type":"u8"}]},{"name":"Q","tags":"9-20","fields":[{"name":"a","type":"u8"}]}]}`, `payload "Q": payload "P" has the same tags: 0x0000000000000009`},
		{"too large", `{"payloads":[` + strings.Repeat(" ", 1<<20) + `]}`, `more than 1048576 bytes`},
		{"a key that is not UTF-8", "{\"" + strings.Repeat("\xff", 100) + "\":1}", `test.json:1:3: not UTF-8`},
		{"a text that is not UTF-8", p("\"endian\":\"b\xffg\""), `test.json:2:12: not UTF-8`},
		{"a text in UTF-16", "\xff\xfe{\x00}\x00", `test.json:1:1: not UTF-8`},
		{"a key with escapes", `{"\u00e9\ud800": 1}`, `is not known here`},
		{"deep", strings.Repeat(`{"payloads":[`, 20_000), `test.json:1:`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := payload.Parse("test.json", []byte(test.text))
			wrong := (*payload.Error)(nil)
			if !errors.As(err, &wrong) || !errors.Is(err, payload.ErrInvalid) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

// FuzzParse: whatever the description and the payload, nothing panics; what is right makes
// JSON, and messages that have no field of another kind than the descriptor says.
func FuzzParse(f *testing.F) {
	f.Add([]byte(each), crate)
	f.Add([]byte(`{"payloads":[{"name":"P","tags":"1","fields":[{"name":"a","type":"u16","count":"rest"}]}]}`), []byte{1})
	f.Add([]byte(`[`), []byte(nil))
	f.Add([]byte("{\""+strings.Repeat("\xff", 100)+"\":1}"), []byte(nil))
	f.Fuzz(func(t *testing.T, text, data []byte) {
		set, err := payload.Parse("x", text)
		if err != nil {
			if !errors.Is(err, payload.ErrInvalid) {
				t.Errorf("got %v", err)
			}
			return
		}
		for _, p := range set {
			var files descriptorpb.FileDescriptorSet
			if err := proto.Unmarshal(p.Descriptor(), &files); err != nil {
				t.Fatal(err)
			}
			if p.Check(data) != nil {
				continue
			}
			p.IsCovered(data)
			if got := p.AppendJSON(nil, data); !json.Valid(got) {
				t.Errorf("got %s", got)
			}
			for b := p.AppendProto(nil, &payload.Envelope{Data: data}, data); len(b) > 0; {
				_, _, size := protowire.ConsumeField(b)
				if size < 0 {
					t.Fatal(protowire.ParseError(size))
				}
				b = b[size:]
			}
		}
	})
}

// BenchmarkAppendProto is what a message of 1,000 samples takes.
func BenchmarkAppendProto(b *testing.B) {
	p := mustParse(b, `{"payloads":[{"name":"P","tags":"1","fields":[{"name":"t","type":"u64"},{"name":"s","type":"u16","count":"rest"}]}]}`)[0]
	data, out := make([]byte, 2008), make([]byte, 0, 8192)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		out = p.AppendProto(out[:0], &payload.Envelope{Counter: 5}, data)
	}
}

// TestAMarkOfAnEditor in front of the text is no part of it.
func TestAMarkOfAnEditor(t *testing.T) {
	if set := mustParse(t, "\ufeff"+each); set.Of(0x40) == nil {
		t.Errorf("got %v, want the payloads", set)
	}
}
