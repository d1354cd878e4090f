// SPDX-License-Identifier: Apache-2.0

package tags_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tagbus/tags"
)

func TestTag_Fields_ofTag(t *testing.T) {
	tests := []struct {
		name    string
		tag     tags.Tag
		want    tags.Fields
		channel uint32
	}{
		{
			name:    "the toflx tag of the YARR documents",
			tag:     1152922810278051840,
			want:    tags.Fields{Version: 1, Connector: 19, ELink: 17, Direction: tags.ToDetector},
			channel: 17,
		},
		{
			name:    "the tohost tag of the YARR documents",
			tag:     1152922810278543360,
			want:    tags.Fields{Version: 1, Connector: 19, ELink: 25},
			channel: 25,
		},
		{
			name: "the default id",
			tag:  0x1000000000000000,
			want: tags.Fields{Version: tags.FormatVersion},
		},
		{
			name: "a small number from a test",
			tag:  3,
			want: tags.Fields{Stream: 3},
		},
		{
			name: "every field at its limit",
			tag:  tags.MaxTag,
			want: tags.Fields{
				Version: 15, Detector: 255, Connector: 65535, Virtual: true, Link: 8191,
				ELink: 63, Direction: tags.ToDetector, Protocol: 127, Stream: 255,
			},
			channel: 0xfffff,
		},
		{
			name: "a different value in every field",
			tag:  2<<60 | 3<<52 | 4<<36 | 1<<35 | 5<<22 | 6<<16 | 1<<15 | 7<<8 | 8,
			want: tags.Fields{
				Version: 2, Detector: 3, Connector: 4, Virtual: true, Link: 5,
				ELink: 6, Direction: tags.ToDetector, Protocol: 7, Stream: 8,
			},
			channel: 1<<19 | 5<<6 | 6,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.tag.Fields()); diff != "" {
				t.Errorf("fields of %v (-want +got):\n%s", test.tag, diff)
			}
			if got := test.tag.Channel(); got != test.channel {
				t.Errorf("channel: got %#x want %#x", got, test.channel)
			}
			got, err := test.want.Tag()
			if err != nil || got != test.tag {
				t.Errorf("tag of the fields: got %v, %v want %v", got, err, test.tag)
			}
		})
	}
}

func TestFields_Tag_ofAnyTagGivesItBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := tags.Tag(rapid.Uint64().Draw(t, "tag"))
		if got, err := want.Fields().Tag(); err != nil || got != want {
			t.Fatalf("got %v, %v want %v", got, err, want)
		}
	})
}

func TestFields_Tag_reportsEveryFieldAboveItsLimit(t *testing.T) {
	fields := tags.Fields{Version: 16, Link: 8192, ELink: 64, Direction: 2, Protocol: 128}
	tag, err := fields.Tag()
	if tag != 0 {
		t.Errorf("tag beside an error: got %v want 0", tag)
	}
	const want = "tags: version 16 is above its limit 15\n" +
		"tags: link 8192 is above its limit 8191\n" +
		"tags: elink 64 is above its limit 63\n" +
		"tags: direction 2 is above its limit 1\n" +
		"tags: protocol 128 is above its limit 127"
	if err == nil || err.Error() != want {
		t.Fatalf("error: got\n%v\nwant\n%s", err, want)
	}
	var field *tags.FieldError
	if !errors.As(err, &field) {
		t.Fatalf("error %T holds no *FieldError", err)
	}
	if diff := cmp.Diff(&tags.FieldError{Field: "version", Value: 16, Limit: 15}, field); diff != "" {
		t.Errorf("first field error (-want +got):\n%s", diff)
	}
}

func TestDirection_String_names(t *testing.T) {
	tests := []struct {
		name      string
		direction tags.Direction
		want      string
	}{
		{"readout", tags.ToHost, "toHost"},
		{"commands", tags.ToDetector, "toDetector"},
		{"a value that is no direction", 7, "Direction(7)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.direction.String(); got != test.want {
				t.Errorf("got %q want %q", got, test.want)
			}
		})
	}
}
