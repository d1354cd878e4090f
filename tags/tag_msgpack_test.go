package tags_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"tagbus/tags"
)

func TestTagMarshalMsgpackIsTheShortestInteger(t *testing.T) {
	tests := []struct {
		name string
		tag  tags.Tag
		want string
	}{
		{"zero", 0, "00"},
		{"the last fixint", 0x7f, "7f"},
		{"the first uint8", 0x80, "cc80"},
		{"the last uint8", 0xff, "ccff"},
		{"the first uint16", 0x100, "cd0100"},
		{"the last uint16", 0xffff, "cdffff"},
		{"the first uint32", 0x10000, "ce00010000"},
		{"the last uint32", 0xffffffff, "ceffffffff"},
		{"the first uint64", 0x100000000, "cf0000000100000000"},
		{"a detector's tag", 0x1000013000118000, "cf1000013000118000"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.tag.MarshalMsgpack()
			if err != nil || hex.EncodeToString(got) != test.want {
				t.Errorf("got %x, %v want %s", got, err, test.want)
			}
			plain, err := msgpack.Marshal(uint64(test.tag))
			if err != nil || test.tag > 0xffffffff && !bytes.Equal(got, plain) {
				t.Errorf("got %x, a plain uint64 is %x, %v", got, plain, err)
			}
			var back tags.Tag
			if err := back.UnmarshalMsgpack(got); err != nil || back != test.tag {
				t.Errorf("back: got %v, %v want %v", back, err, test.tag)
			}
		})
	}
}

func TestTagUnmarshalMsgpack(t *testing.T) {
	tests := []struct {
		name    string
		input   string
		want    tags.Tag
		wantErr *tags.DecodeError
	}{
		{name: "a uint64 that is longer than needed", input: "cf0000000000000005", want: 5},
		{name: "a uint32 that is longer than needed", input: "ce00000005", want: 5},
		{name: "a uint16 that is longer than needed", input: "cd0005", want: 5},
		{name: "a uint8 that is longer than needed", input: "cc05", want: 5},
		{name: "an int8", input: "d07f", want: 127},
		{name: "an int16", input: "d17fff", want: 0x7fff},
		{name: "an int32", input: "d27fffffff", want: 0x7fffffff},
		{name: "an int64", input: "d37fffffffffffffff", want: 0x7fffffffffffffff},
		{name: "nothing", input: "", wantErr: &tags.DecodeError{Reason: "no msgpack value where a tag is wanted"}},
		{name: "a negative fixint", input: "ff", wantErr: &tags.DecodeError{Reason: "negative msgpack integer where a tag is wanted"}},
		{name: "the lowest negative fixint", input: "e0", wantErr: &tags.DecodeError{Reason: "negative msgpack integer where a tag is wanted"}},
		{name: "a negative int8", input: "d0ff", wantErr: &tags.DecodeError{Reason: "negative msgpack integer where a tag is wanted"}},
		{name: "a negative int64", input: "d3ffffffffffffffff", wantErr: &tags.DecodeError{Reason: "negative msgpack integer where a tag is wanted"}},
		{name: "nil", input: "c0", wantErr: &tags.DecodeError{Reason: "msgpack value is not an integer, a tag is wanted"}},
		{name: "a string", input: "a131", wantErr: &tags.DecodeError{Reason: "msgpack value is not an integer, a tag is wanted"}},
		{name: "a float", input: "ca3f800000", wantErr: &tags.DecodeError{Reason: "msgpack value is not an integer, a tag is wanted"}},
		{name: "an integer cut short", input: "cf00000000000000", wantErr: &tags.DecodeError{Offset: 8, Reason: "msgpack integer is cut short"}},
		{name: "an int8 cut short", input: "d0", wantErr: &tags.DecodeError{Offset: 1, Reason: "msgpack integer is cut short"}},
		{name: "two values", input: "0102", wantErr: &tags.DecodeError{Offset: 1, Reason: "bytes after the msgpack integer"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data, err := hex.DecodeString(test.input)
			if err != nil {
				t.Fatal(err)
			}
			const before tags.Tag = 99
			got := before
			err = got.UnmarshalMsgpack(data)
			if test.wantErr == nil {
				if err != nil || got != test.want {
					t.Errorf("got %v, %v want %v", got, err, test.want)
				}
				return
			}
			var decode *tags.DecodeError
			if !errors.As(err, &decode) {
				t.Fatalf("got %v (%T) want a *DecodeError", err, err)
			}
			if diff := cmp.Diff(test.wantErr, decode); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if got != before {
				t.Errorf("the tag changed to %v beside an error", got)
			}
		})
	}
}

func TestMsgpackRoundTripOfAStruct(t *testing.T) {
	type control struct {
		Tag   tags.Tag
		List  []tags.Tag
		Names map[tags.Tag]string
		Tags  tags.Set
		Empty tags.Set
	}
	want := control{
		Tag:   0x1000013000118000,
		List:  []tags.Tag{0, 127, 128, 1 << 40},
		Names: map[tags.Tag]string{7: "seven", 1 << 60: "detector"},
		Tags:  tags.Of(1, 2, 3, 9).Union(tags.Match(0x10, 0xf0)),
	}
	data, err := msgpack.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got control
	if err := msgpack.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMsgpackHoldsATagAsAnIntegerAndASetAsItsBinaryForm(t *testing.T) {
	type pair struct {
		_msgpack struct{} `msgpack:",as_array"` //nolint:unused // read by msgpack
		Tag      tags.Tag
		Set      tags.Set
	}
	got, err := msgpack.Marshal(pair{Tag: 0x1000013000118000, Set: tags.Of(5, 6, 7, 9)})
	// A list of two: uint64, and bin 8 of 7 bytes as documented at Set.AppendBinary.
	const want = "92" + "cf1000013000118000" + "c407" + "01020502000000"
	if err != nil || hex.EncodeToString(got) != want {
		t.Errorf("got %x, %v want %s", got, err, want)
	}
	var number uint64
	if err := msgpack.Unmarshal(got[1:10], &number); err != nil || number != 0x1000013000118000 {
		t.Errorf("read as a number: got %#x, %v", number, err)
	}
}
