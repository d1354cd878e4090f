// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"strconv"
)

// The beat line; the package comment draws it.
const (
	beatForm  = `{"beat":"%016x","revision":"%08x","crc32c":"%08x"}` + "\n"
	beatBytes = len(`{"beat":"0000000000000000","revision":"00000000","crc32c":"00000000"}` + "\n")
	countAt   = len(`{"beat":"`)
)

// errTorn says that the beat line does not fit the file: it was read while it
// was written, or it was altered.
var errTorn = fmt.Errorf("%w: the beat line does not fit the file", ErrDamaged)

// appendBeat appends the beat line of a file with that revision and sum.
func appendBeat(b []byte, count uint64, revision, sum uint32) []byte {
	covered := fmt.Appendf(nil, "%08x%016x%08x", sum, count, revision)
	return fmt.Appendf(b, beatForm, count, revision, crc32.Checksum(covered, castagnoli))
}

// readBeat returns the counter of a beat line of beatBytes bytes.
//
//   - Errors: errTorn.
func readBeat(line []byte, revision, sum uint32) (uint64, error) {
	if len(line) != beatBytes {
		return 0, errTorn
	}
	count, err := strconv.ParseUint(string(line[countAt:countAt+16]), 16, 64)
	if err != nil || !bytes.Equal(line, appendBeat(make([]byte, 0, beatBytes), count, revision, sum)) {
		return 0, errTorn
	}
	return count, nil
}
