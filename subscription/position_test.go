// SPDX-License-Identifier: Apache-2.0

package subscription_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tagbus/subscription"
	"tagbus/tags"
)

// maxVarint is the varint of 2^64-1.
const maxVarint = "ffffffffffffffffff01"

func appendPositions(positions []subscription.Position) (list []byte) {
	var prev tags.Tag
	for _, p := range positions {
		list = subscription.AppendPosition(list, prev, p)
		prev = p.Tag
	}
	return list
}

// positionsOf returns what a list holds up to its end or its damage.
func positionsOf(list []byte) (positions []subscription.Position, err error) {
	for p, err := range subscription.PositionsOf(list) {
		if err != nil {
			return positions, err
		}
		positions = append(positions, p)
	}
	return positions, nil
}

func TestAppendPosition_bytes(t *testing.T) {
	tests := []struct {
		name      string
		positions []subscription.Position
		want      string
	}{
		{"none", nil, ""},
		{"tag 0", []subscription.Position{{0, 1}}, "00 01"},
		{"two tags", []subscription.Position{{5, 7}, {133, 300}}, "05 07 8001 ac02"},
		{"tag 0 and the tag after it", []subscription.Position{{0, 0}, {1, 2}}, "00 00 01 02"},
		{"the last tag with the greatest count", []subscription.Position{{tags.MaxTag, 1<<64 - 1}}, maxVarint + maxVarint},
		{"the first and the last tag", []subscription.Position{{0, 1}, {tags.MaxTag, 2}}, "00 01" + maxVarint + "02"},
		{"e-links of a detector", []subscription.Position{{0x1000013000118000, 64}, {0x1000013000128000, 3}}, "8080c68080a6808010 40 808004 03"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := unhex(t, test.want)
			if got := appendPositions(test.positions); !bytes.Equal(got, want) {
				t.Fatalf("got %x, want %x", got, want)
			}
			got, err := positionsOf(want)
			if diff := cmp.Diff(test.positions, got); err != nil || diff != "" {
				t.Errorf("read back: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestPositionsOf_damagedPositions(t *testing.T) {
	tests := []struct {
		name  string
		input string
		want  []subscription.Position // before the damage
	}{
		{"a tag cut off", "80", nil},
		{"no count", "05", nil},
		{"a count cut off", "05 80", nil},
		{"a second tag cut off", "05 07 80", []subscription.Position{{5, 7}}},
		{"a second without count", "05 07 01", []subscription.Position{{5, 7}}},
		{"a tag again", "05 07 00 08", []subscription.Position{{5, 7}}},
		{"tag 0 again", "00 07 00 08", []subscription.Position{{0, 7}}},
		{"a tag past the last", "05 07" + maxVarint + "01", []subscription.Position{{5, 7}}},
		{"a tag after the last", maxVarint + "07 01 01", []subscription.Position{{tags.MaxTag, 7}}},
		{"a tag above 64 bits", "ffffffffffffffffff02 01", nil},
		{"a count above 64 bits", "05 ffffffffffffffffff02", nil},
		{"a number of eleven bytes", "05" + strings.Repeat("80", 10) + "01", nil},
		{"a tag not in its shortest form", "8500 07", nil},
		{"a count not in its shortest form", "05 8000", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := positionsOf(unhex(t, test.input))
			if diff := cmp.Diff(test.want, got); err == nil || diff != "" {
				t.Errorf("got error %v, want one (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestPositionsOf_mayBeLeftEarly(t *testing.T) {
	for p, err := range subscription.PositionsOf(unhex(t, "05 07 01 08 80")) {
		if err != nil || p != (subscription.Position{Tag: 5, Count: 7}) {
			t.Errorf("got %v, %v want tag 5 at 7", p, err)
		}
		break // going on after this would panic
	}
}

func TestPositionsOf_positionsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.MapOf(rapid.Uint64(), rapid.Uint64()).Draw(t, "counts")
		var positions []subscription.Position
		for tag, n := range counts {
			positions = append(positions, subscription.Position{Tag: tags.Tag(tag), Count: n})
		}
		slices.SortFunc(positions, func(a, b subscription.Position) int {
			if a.Tag < b.Tag {
				return -1
			}
			return 1
		})
		list := appendPositions(positions)
		if most := len(positions) * subscription.MaxPositionBytes; len(list) > most {
			t.Fatalf("got %d bytes for %d positions, want at most %d", len(list), len(positions), most)
		}
		got, err := positionsOf(list)
		if err != nil || !slices.Equal(got, positions) {
			t.Fatalf("got %v, %v want %v", got, err, positions)
		}
	})
}

func FuzzPositions(f *testing.F) {
	for _, s := range []string{"", "00 01", "05 07 8001 ac02", maxVarint + maxVarint, "05 07 00 08", "8500 07", "80"} {
		f.Add(unhex(f, s))
	}
	f.Fuzz(func(t *testing.T, list []byte) {
		positions, err := positionsOf(list)
		again := appendPositions(positions)
		if err == nil && !bytes.Equal(again, list) {
			t.Errorf("%x was accepted and comes back as %x", list, again)
		}
		if !bytes.HasPrefix(list, again) {
			t.Errorf("%x: positions before the damage come back as %x", list, again)
		}
		for i := 1; i < len(positions); i++ {
			if positions[i].Tag <= positions[i-1].Tag {
				t.Errorf("%x: tag %v after %v", list, positions[i].Tag, positions[i-1].Tag)
			}
		}
	})
}
