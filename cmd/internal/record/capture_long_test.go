// SPDX-License-Identifier: Apache-2.0

package record_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tagbus/cmd/internal/record"
)

// longBlock returns the beginning of a block of pcapng that says that it has so many bytes.
func longBlock(kind, total uint32, body ...uint32) []byte {
	b := binary.LittleEndian.AppendUint32(nil, kind)
	b = binary.LittleEndian.AppendUint32(b, total)
	for _, x := range body {
		b = binary.LittleEndian.AppendUint32(b, x)
	}
	return b
}

// anything is as many bytes as are wanted, whatever they are.
type anything struct{}

func (anything) Read(b []byte) (int, error) { return len(b), nil }

// A length above 2 GiB is none below zero where an int has 32 bits: GOARCH=386 tries that.
func TestALengthOfMoreThan2GiBIsOne(t *testing.T) {
	const long = 1<<31 + 64
	file := writeAll(t, format(t, "pcapng"), "a")
	for _, test := range []struct {
		name string
		file []byte
		want error
		text string
	}{
		{"section", longBlock(0x0a0d0d0a, long, 0x1a2b3c4d, 1, 0, 0), record.ErrTruncated, "2147483684 bytes announced"},
		{"unknown block", append(bytes.Clone(file), longBlock(0xbad, long)...), record.ErrTruncated, "2147483700 bytes announced"},
		{"interface", append(bytes.Clone(file), longBlock(1, long)...), record.ErrTooLong, "2147483700 bytes"},
		{"packet", append(bytes.Clone(file), longBlock(6, long, 0, 0, 0, 4, 4, 0)...), record.ErrTruncated, "2147483680 bytes announced"},
		{"long packet", append(bytes.Clone(file), longBlock(6, long, 0, 0, 0, long-64, long-64, 0)...), record.ErrTooLong, "2147483648 bytes"},
		{"simple packet", append(bytes.Clone(file), longBlock(3, long, 4, 0)...), record.ErrTruncated, "2147483696 bytes announced"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := readAll(format(t, "pcapng"), bytes.NewReader(test.file), 100)
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("got %v, want %v with %q", err, test.want, test.text)
			}
		})
	}
	length := func(n uint32) io.Reader { return bytes.NewReader(binary.LittleEndian.AppendUint32(nil, n)) }
	if _, err := readAll(format(t, "length32"), length(long), 100); !errors.Is(err, record.ErrTooLong) || !strings.Contains(err.Error(), "2147483712 bytes") {
		t.Errorf("records with lengths: got %v, want %v with the length", err, record.ErrTooLong)
	}
}

// What is behind a block that is passed over is read, however long this is.
func TestABlockOfMoreThan2GiBIsPassedOver(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 2 GiB")
	}
	const long = 1<<31 + 64
	file := writeAll(t, format(t, "pcapng"), "a")
	got, err := readAll(format(t, "pcapng"), io.MultiReader(
		bytes.NewReader(file), bytes.NewReader(longBlock(0xbad, long)), io.LimitReader(anything{}, long-8), bytes.NewReader(file)), 100)
	if err != nil && !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"a", "a"}, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}
