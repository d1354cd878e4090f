// SPDX-License-Identifier: Apache-2.0

package tags_test

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/tags"
)

func TestParse_readsEachForm(t *testing.T) {
	tests := []struct {
		name  string
		input string
		want  tags.Tag
	}{
		{"a decimal", "1152922810278051840", 0x1000013000118000},
		{"zero", "0", 0},
		{"a small decimal", "17", 17},
		{"the largest decimal", "18446744073709551615", tags.MaxTag},
		{"hexadecimal", "0x1000013000190000", 1152922810278543360},
		{"hexadecimal in upper case", "0XFF", 255},
		{"hexadecimal with leading zeros", "0x00000000000000000001", 1},
		{"slashes", "1/0/19/0/0/17/1/0/0", 0x1000013000118000},
		{"slashes with hexadecimal fields", "0x1/0x0/0x13/0/0/0x19/0/0/0", 0x1000013000190000},
		{"a direction in words", "1/0/19/0/0/17/toDetector/0/0", 0x1000013000118000},
		{"a direction in lower case", "1/0/19/0/0/25/tohost/0/0", 0x1000013000190000},
		{"every field at its limit", "15/255/65535/1/8191/63/1/127/255", tags.MaxTag},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := tags.Parse(test.input)
			if err != nil || got != test.want {
				t.Errorf("got %v, %v want %v", got, err, test.want)
			}
		})
	}
}

func TestParse_errors(t *testing.T) {
	tests := []struct {
		name   string
		input  string
		is     error // nil: a *FieldError
		offset int
		want   string
	}{
		{"nothing", "", tags.ErrSyntax, 0, `tags: parse "" at byte 0: invalid syntax: a number is missing`},
		{"a word", "detector", tags.ErrSyntax, 0, `tags: parse "detector" at byte 0: invalid syntax: want a decimal or 0x number`},
		{"a sign", "-1", tags.ErrSyntax, 0, ""},
		{"a plus sign", "+1", tags.ErrSyntax, 0, ""},
		{"blanks", " 1", tags.ErrSyntax, 0, ""},
		{"underscores", "1_000", tags.ErrSyntax, 0, ""},
		{"underscores in hexadecimal", "0x1_0", tags.ErrSyntax, 0, ""},
		{"a prefix without digits", "0x", tags.ErrSyntax, 0, ""},
		{"binary", "0b1", tags.ErrSyntax, 0, ""},
		{"what C reads as octal", "010", tags.ErrSyntax, 0, ""},
		{"65 bits", "0x10000000000000000", tags.ErrOverflow, 0, `tags: parse "0x10000000000000000" at byte 0: number above 64 bits`},
		{"a decimal above 64 bits", "18446744073709551616", tags.ErrOverflow, 0, ""},
		{"too few fields", "1/0/19", tags.ErrSyntax, 6, `tags: parse "1/0/19" at byte 6: invalid syntax: 3 fields separated by slashes, want 9 (version/detector/connector/virtual/link/elink/direction/protocol/stream)`},
		{"too many fields", "1/0/19/0/0/17/1/0/0/0", tags.ErrSyntax, 20, ""},
		{"an empty field", "1/0//0/0/17/1/0/0", tags.ErrSyntax, 4, `tags: parse "1/0//0/0/17/1/0/0" at byte 4: invalid syntax: a number is missing (field connector)`},
		{"a wildcard", "1/0/*/0/0/17/1/0/0", tags.ErrSyntax, 4, `tags: parse "1/0/*/0/0/17/1/0/0" at byte 4: invalid syntax: a wildcard names many tags where one is wanted`},
		{"a link above its limit", "1/0/19/0/8192/17/1/0/0", nil, 9, `tags: parse "1/0/19/0/8192/17/1/0/0" at byte 9: link 8192 is above its limit 8191`},
		{"a detector above its limit", "1/256/19/0/0/17/1/0/0", nil, 2, ""},
		{"a direction above its limit", "1/0/19/0/0/17/2/0/0", nil, 14, ""},
		{"a field above 64 bits", "1/0/19/0/0/17/1/0/18446744073709551616", tags.ErrOverflow, 18, ""},
		{"a stranger direction", "1/0/19/0/0/17/up/0/0", tags.ErrSyntax, 14, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := tags.Parse(test.input)
			var parse *tags.ParseError
			if !errors.As(err, &parse) {
				t.Fatalf("got %v (%T) want a *ParseError", err, err)
			}
			if parse.Input != test.input || parse.Offset != test.offset {
				t.Errorf("got input %q offset %d want %q, %d", parse.Input, parse.Offset, test.input, test.offset)
			}
			var field *tags.FieldError
			if test.is != nil && !errors.Is(err, test.is) || test.is == nil && !errors.As(err, &field) {
				t.Errorf("got %v want it to wrap %v", err, test.is)
			}
			if test.want != "" && err.Error() != test.want {
				t.Errorf("got  %s\nwant %s", err, test.want)
			}
		})
	}
}

func TestParseError_Error_quotesLittleOfALongInput(t *testing.T) {
	digits := strings.Repeat("7", 5000)
	tests := []struct {
		name, input string
		want        string // part of the message
	}{
		{"wrong at its beginning", digits, `tags: parse "` + digits[:64] + `"… at byte 0`},
		{"wrong in its middle", "1/0/" + digits + "/0", `tags: parse …"` + digits[:64] + `"… at byte 4`},
		{"wrong at its end", "1/" + digits[:100] + "/x", "tags: parse …"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := tags.Parse(test.input)
			if err == nil || !strings.Contains(err.Error(), test.want) || len(err.Error()) > 300 {
				t.Errorf("got %v want at most 300 bytes with %s", err, test.want)
			}
		})
	}
}

func TestTag_String_text(t *testing.T) {
	const tag tags.Tag = 1152922810278051840
	if got, want := tag.String(), "0x1000013000118000"; got != want {
		t.Errorf("String: got %s want %s", got, want)
	}
	if got, want := tags.Tag(10).String(), "0x000000000000000a"; got != want {
		t.Errorf("String: got %s want %s", got, want)
	}
	if got, want := tag.Slashed(), "1/0/19/0/0/17/1/0/0"; got != want {
		t.Errorf("Slashed: got %s want %s", got, want)
	}
	text, err := tag.AppendText([]byte("tag="))
	if got, want := string(text), "tag=0x1000013000118000"; err != nil || got != want {
		t.Errorf("AppendText: got %s, %v want %s", got, err, want)
	}
}

func TestTag_UnmarshalText_leavesTheTagOnAnError(t *testing.T) {
	tag := tags.Tag(7)
	if err := tag.UnmarshalText([]byte("x")); err == nil || tag != 7 {
		t.Errorf("got %v, %v want tag 7 and an error", tag, err)
	}
}

func TestTag_andSetAsFlags(t *testing.T) {
	var tag tags.Tag
	var set tags.Set
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.TextVar(&tag, "tag", tags.Tag(1), "")
	flags.TextVar(&set, "tags", tags.Set{}, "")
	if err := flags.Parse([]string{"-tag", "1/0/19/0/0/17/1/0/0", "-tags", "1, 2-4"}); err != nil {
		t.Fatal(err)
	}
	if want := tags.Tag(0x1000013000118000); tag != want {
		t.Errorf("tag: got %v want %v", tag, want)
	}
	if want := tags.Of(1, 2, 3, 4); !set.Equal(want) {
		t.Errorf("tags: got %v want %v", set, want)
	}
}

func TestTag_UnmarshalJSON_andBack(t *testing.T) {
	type config struct {
		Tag   tags.Tag            `json:"tag"`
		Names map[tags.Tag]string `json:"names,omitempty"`
	}
	tests := []struct {
		name    string
		input   string
		want    config
		wantErr error
	}{
		{name: "hexadecimal in a string", input: `{"tag":"0x1000013000118000"}`, want: config{Tag: 0x1000013000118000}},
		{name: "decimal in a string", input: `{"tag":"1152922810278051840"}`, want: config{Tag: 0x1000013000118000}},
		{name: "slashes escaped in a string", input: `{"tag":"1\/0\/19\/0\/0\/17\/1\/0\/0"}`, want: config{Tag: 0x1000013000118000}},
		{name: "a number that float64 cannot hold", input: `{"tag":1152922810278051841}`, want: config{Tag: 0x1000013000118001}},
		{name: "the largest number", input: `{"tag":18446744073709551615}`, want: config{Tag: tags.MaxTag}},
		{name: "null", input: `{"tag":null}`},
		{name: "keys of a map", input: `{"tag":"1","names":{"0x02":"a","3":"b"}}`, want: config{Tag: 1, Names: map[tags.Tag]string{2: "a", 3: "b"}}},
		{name: "a number with an exponent", input: `{"tag":1e3}`, wantErr: tags.ErrSyntax},
		{name: "a number with a point", input: `{"tag":1.0}`, wantErr: tags.ErrSyntax},
		{name: "a negative number", input: `{"tag":-1}`, wantErr: tags.ErrSyntax},
		{name: "a number above 64 bits", input: `{"tag":18446744073709551616}`, wantErr: tags.ErrOverflow},
		{name: "true", input: `{"tag":true}`, wantErr: tags.ErrSyntax},
		{name: "a list", input: `{"tag":[1]}`, wantErr: tags.ErrSyntax},
		{name: "an empty string", input: `{"tag":""}`, wantErr: tags.ErrSyntax},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got config
			err := json.Unmarshal([]byte(test.input), &got)
			if !errors.Is(err, test.wantErr) {
				t.Fatalf("error: got %v want %v", err, test.wantErr)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("tags are written as strings", func(t *testing.T) {
		got, err := json.Marshal(config{Tag: 0x1000013000118000, Names: map[tags.Tag]string{2: "a"}})
		const want = `{"tag":"0x1000013000118000","names":{"0x0000000000000002":"a"}}`
		if err != nil || string(got) != want {
			t.Errorf("got %s, %v want %s", got, err, want)
		}
	})
	t.Run("a malformed string is refused when called without encoding/json", func(t *testing.T) {
		var tag tags.Tag
		if err := tag.UnmarshalJSON([]byte(`"1`)); err == nil {
			t.Errorf("got %v, nil want an error", tag)
		}
		if err := tag.UnmarshalJSON(nil); !errors.Is(err, tags.ErrSyntax) {
			t.Errorf("got %v, %v want %v", tag, err, tags.ErrSyntax)
		}
	})
}

func FuzzTagParse(f *testing.F) {
	for _, seed := range []string{
		"0", "1152922810278051840", "0x1000013000118000", "0XfF", "1/0/19/0/0/17/1/0/0",
		"0x1/0x0/0x13/0/0/0x19/toDetector/0/0", "15/255/65535/1/8191/63/1/127/255",
		"18446744073709551616", "010", "-1", "1/0/*/0/0/17/1/0/0", "//", "1/0/19/0/0/17/1/0/0/",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tag, err := tags.Parse(s)
		if err != nil {
			var parse *tags.ParseError
			if !errors.As(err, &parse) || parse.Offset < 0 || parse.Offset > len(s) || len(err.Error()) > 1000 {
				t.Fatalf("error of %q: got %T %v", s, err, err)
			}
			return
		}
		for _, form := range []string{tag.String(), tag.Slashed()} {
			if got, err := tags.Parse(form); err != nil || got != tag {
				t.Fatalf("%q is %v; its text %q is %v, %v", s, tag, form, got, err)
			}
		}
	})
}
