// SPDX-License-Identifier: Apache-2.0

package tags_test

import (
	"encoding/json"
	"errors"
	"testing"

	"tagbus/tags"
)

func TestParseSet_andString(t *testing.T) {
	tests := []struct {
		name  string
		input string
		want  string // canonical text
	}{
		{"nothing", "", ""},
		{"blanks", " \t\n", ""},
		{"everything", "*", "*"},
		{"everything in slash form", "*/*/*/*/*/*/*/*/*", "*"},
		{"everything as a range", "0-18446744073709551615", "*"},
		{"everything as a pattern", "1&0", "*"},
		{"everything and more", "1,*,1&1", "*"},
		{"a decimal", "1152922810278051840", "0x1000013000118000"},
		{"a tag in slash form", "1/0/19/0/0/17/1/0/0", "0x1000013000118000"},
		{"tags with blanks around the commas", " 3 ,\t1\n, 9 ", "0x0000000000000001,0x0000000000000003,0x0000000000000009"},
		{"a range of numbers", "0x1000013000118000-0x100001300011800f", "0x1000013000118000-0x100001300011800f"},
		{"a range of slash forms", "1/0/19/0/0/17/1/0/0-1/0/19/0/0/17/1/0/15", "0x1000013000118000-0x100001300011800f"},
		{"a range of one tag", "7-7", "0x0000000000000007"},
		{"tags that touch", "3,1,2", "0x0000000000000001-0x0000000000000003"},
		{"wildcards in the high fields", "1/0/19/*/*/*/0/*/*", "1/0/19/*/*/*/0/*/*"},
		{"wildcards in all low fields", "1/0/19/*/*/*/*/*/*", "0x1000013000000000-0x1000013fffffffff"},
		{"a direction in words", "1/*/*/*/*/*/toDetector/*/*", "1/*/*/*/*/*/1/*/*"},
		{"a value and a mask that are whole fields", "0x1000013000000000&0xfffffff000008000", "1/0/19/*/*/*/0/*/*"},
		{"a value and a mask within a field", "0x30&0xf0", "0x0000000000000030&0x00000000000000f0"},
		{"value bits outside the mask", "0x3f&0xf0", "0x0000000000000030&0x00000000000000f0"},
		{"patterns behind ranges", "1&1,4-6,2", "0x0000000000000002,0x0000000000000004-0x0000000000000006,0x0000000000000001&0x0000000000000001"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := tags.ParseSet(test.input)
			if err != nil || s.String() != test.want {
				t.Fatalf("got %q, %v want %q", s, err, test.want)
			}
			again, err := tags.ParseSet(s.String())
			if err != nil || !again.Equal(s) {
				t.Errorf("read back: got %q, %v want %q", again, err, s)
			}
		})
	}
}

func TestParseSet_errors(t *testing.T) {
	tests := []struct {
		name   string
		input  string
		is     error // nil: a *FieldError
		offset int
		want   string
	}{
		{"a comma only", ",", tags.ErrSyntax, 0, `tags: parse "," at byte 0: invalid syntax: a tag is missing`},
		{"a comma at the end", "1, ", tags.ErrSyntax, 3, ""},
		{"two commas", "1,,2", tags.ErrSyntax, 2, ""},
		{"a word", "1, all", tags.ErrSyntax, 3, `tags: parse "1, all" at byte 3: invalid syntax: want a decimal or 0x number`},
		{"blanks in a range", "1 - 2", tags.ErrSyntax, 0, ""},
		{"a range without its end", "1-", tags.ErrSyntax, 2, ""},
		{"a range without its beginning", "-2", tags.ErrSyntax, 0, ""},
		{"a range of three", "1-2-3", tags.ErrSyntax, 2, ""},
		{"a range that ends before it begins", "0,9-8", tags.ErrRangeOrder, 2, `tags: parse "0,9-8" at byte 2: range ends before it begins`},
		{"a range to a wildcard", "1-*", tags.ErrSyntax, 2, ""},
		{"a range to a pattern", "1-1/0/19/*/*/*/0/*/*", tags.ErrSyntax, 9, ""},
		{"a wildcard within a field", "1/0/1*/*/*/*/0/*/*", tags.ErrSyntax, 4, ""},
		{"a mask without a value", "&1", tags.ErrSyntax, 0, ""},
		{"a value without a mask", "1&", tags.ErrSyntax, 2, ""},
		{"a mask above 64 bits", "1&0x10000000000000000", tags.ErrOverflow, 2, ""},
		{"a field above its limit beside wildcards", "5,1/0/19/*/9000/*/0/*/*", nil, 11, `tags: parse "5,1/0/19/*/9000/*/0/*/*" at byte 11: link 9000 is above its limit 8191`},
		{"too few fields", "1/0/*", tags.ErrSyntax, 5, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := tags.ParseSet(test.input)
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

func TestSet_jsonIsItsText(t *testing.T) {
	type entry struct {
		Tags tags.Set `json:"tags"`
	}
	tests := []struct {
		name string
		set  tags.Set
		want string
	}{
		{"nothing", tags.Set{}, `{"tags":""}`},
		{"a range", mustParseSet(t, "1-2"), `{"tags":"0x0000000000000001-0x0000000000000002"}`},
		{"a pattern", mustParseSet(t, "1/0/19/*/*/*/0/*/*"), `{"tags":"1/0/19/*/*/*/0/*/*"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data, err := json.Marshal(entry{test.set})
			if err != nil || string(data) != test.want {
				t.Fatalf("got %s, %v want %s", data, err, test.want)
			}
			var got entry
			if err := json.Unmarshal(data, &got); err != nil || !got.Tags.Equal(test.set) {
				t.Errorf("read back: got %q, %v want %q", got.Tags, err, test.set)
			}
		})
	}
	t.Run("an ampersand survives its escape", func(t *testing.T) {
		want := tags.Match(1, 1)
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got tags.Set
		if err := json.Unmarshal(data, &got); err != nil || !got.Equal(want) {
			t.Errorf("read back from %s: got %q, %v want %q", data, got, err, want)
		}
	})
}

func TestSet_UnmarshalText_leavesTheSetOnAnError(t *testing.T) {
	s := tags.Of(7)
	if err := s.UnmarshalText([]byte("1,x")); err == nil || !s.Equal(tags.Of(7)) {
		t.Errorf("got %q, %v want tag 7 and an error", s, err)
	}
}

func FuzzSetParse(f *testing.F) {
	for _, seed := range []string{
		"", "*", "1,2,3", " 3 ,\t1\n, 9 ", "0x1000013000118000-0x100001300011800f",
		"1/0/19/0/0/17/1/0/0-1/0/19/0/0/17/1/0/15", "1/0/19/*/*/*/0/*/*", "1/0/19/*/*/*/*/*/*",
		"0x30&0xf0,5-9,0xffffffffffffffff", "*/*/*/*/*/*/*/*/*", "1/*/*/*/*/*/toDetector/*/*",
		",", "1-", "9-8", "1&", "1-2-3", "1/0/*",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := tags.ParseSet(text)
		if err != nil {
			var parse *tags.ParseError
			if !errors.As(err, &parse) || parse.Offset < 0 || parse.Offset > len(text) || len(err.Error()) > 1000 {
				t.Fatalf("error of %q: got %T %v", text, err, err)
			}
			return
		}
		canonical := s.String()
		again, err := tags.ParseSet(canonical)
		if err != nil || !again.Equal(s) || again.String() != canonical {
			t.Fatalf("%q is %q; that is %q, %v", text, canonical, again, err)
		}
		data, err := s.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalBinary(data); err != nil || !again.Equal(s) {
			t.Fatalf("%q through binary %x: got %q, %v", canonical, data, again, err)
		}
		n := 0
		for tag := range s.All() {
			if !s.Contains(tag) {
				t.Fatalf("%q yields %v and does not contain it", canonical, tag)
			}
			if n++; n == 100 {
				break
			}
		}
	})
}
