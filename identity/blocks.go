// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"iter"
)

// byteOrderMark stands at the beginning of texts that some editors have written.
var byteOrderMark = []byte("\ufeff")

// utf16 are the marks with which editors begin what they write in UTF-16.
var utf16 = [][]byte{{0xff, 0xfe}, {0xfe, 0xff}}

// blockBegin is what each block begins with.
var blockBegin = []byte("-----BEGIN")

// ErrUTF16 is the error of a text that has two bytes for each letter.
var ErrUTF16 = errors.New("its text is UTF-16")

// ErrCutOff is wrapped by the error of a block that is not whole.
var ErrCutOff = errors.New("is not whole, or does not begin at the beginning of a line")

// Blocks iterates over the PEM blocks of a file. What is between them is passed over, but no block
// that cannot be read: encoding/pem would take a file for one with fewer certificates, or fewer
// lists of what is revoked.
//
// Errors: ErrUTF16; ErrCutOff, wrapped. Each ends the iteration.
func Blocks(data []byte) iter.Seq2[*pem.Block, error] {
	return func(yield func(*pem.Block, error) bool) {
		for _, mark := range utf16 {
			if bytes.HasPrefix(data, mark) && len(data)%2 == 0 {
				yield(nil, ErrUTF16)
				return
			}
		}
		rest := bytes.TrimPrefix(data, byteOrderMark)
		for n := 1; ; n++ {
			block, behind := pem.Decode(rest)
			begun := bytes.Count(rest[:len(rest)-len(behind)], blockBegin)
			if block == nil {
				begun = 1 + bytes.Count(rest, blockBegin)
			}
			switch {
			case begun > 1:
				yield(nil, fmt.Errorf("block %d %w", n, ErrCutOff))
				return
			case block == nil || !yield(block, nil):
				return
			}
			rest = behind
		}
	}
}

// blocksDo says what to do about an error of Blocks.
func blocksDo(err error) string {
	if errors.Is(err, ErrUTF16) {
		return "save the file again, as UTF-8"
	}
	return "copy the file again"
}
