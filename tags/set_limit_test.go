// SPDX-License-Identifier: Apache-2.0

package tags_test

import (
	"errors"
	"testing"

	"tagbus/tags"
)

func TestSet_UnmarshalLimited_decodesUpToALimit(t *testing.T) {
	set := tags.Union(tags.Of(1, 3, 5), tags.Match(0x100, ^tags.Tag(0xf0)), tags.Match(0x200, ^tags.Tag(0xf0)))
	data, err := set.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		ranges, masks int
		err           error
	}{
		{3, 2, nil},
		{2, 2, tags.ErrTooManyParts},
		{3, 1, tags.ErrTooManyParts},
		{0, 0, tags.ErrTooManyParts},
	}
	for _, test := range tests {
		var got tags.Set
		err := got.UnmarshalLimited(data, test.ranges, test.masks)
		if !errors.Is(err, test.err) || (err == nil) != got.Equal(set) {
			t.Errorf("%d ranges, %d patterns: got %v and %v, want error %v", test.ranges, test.masks, got, err, test.err)
		}
	}
	var decode *tags.DecodeError
	if err := new(tags.Set).UnmarshalLimited(data[:4], 10, 10); !errors.As(err, &decode) {
		t.Errorf("a set cut short: got %v, want a DecodeError", err)
	}
}

func TestClaimedRanges_theHeadOfASetTellsThem(t *testing.T) {
	tests := []struct {
		name string
		head []byte
		n    uint64
		ok   bool
	}{
		{"nothing", nil, 0, false},
		{"half a head", []byte{1}, 0, false},
		{"another format", []byte{2, 1}, 0, false},
		{"few", []byte{1, 5, 9, 9}, 5, true},
		{"half a number", []byte{1, 0x80}, 0, false},
		{"many", []byte{1, 0x80, 0x89, 0x7a, 0}, 2_000_000, true},
		{"a number that is not the shortest", []byte{1, 0x80, 0}, 0, false},
		{"a number above 64 bits", []byte{1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}, 0, false},
	}
	for _, test := range tests {
		if n, ok := tags.ClaimedRanges(test.head); n != test.n || ok != test.ok {
			t.Errorf("%s: got %d, %v, want %d, %v", test.name, n, ok, test.n, test.ok)
		}
	}
}
