// SPDX-License-Identifier: Apache-2.0

//go:build linux

package file_test

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"tagbus/bus/directory"
	"tagbus/bus/directory/file"
)

// TestDirectory_Announce_writesAProofIfThereIsOne keeps the files of others as they were.
func TestDirectory_Announce_writesAProofIfThereIsOne(t *testing.T) {
	for _, proof := range [][]byte{nil, {0}, []byte("proof\x00\xff"), bytes.Repeat([]byte{0xa5}, directory.MaxProofBytes)} {
		e := entry("a", 1)
		e.Proof, e.WaysProof = proof, proof[:min(len(proof), directory.MaxWaysProof)]
		data := encode(t, e)
		if written := bytes.Contains(data, []byte(`"proof"`)) && bytes.Contains(data, []byte(`"ways_proof"`)); written != (len(proof) > 0) {
			t.Errorf("%d bytes: got it written: %t", len(proof), written)
		}
		if d, err := file.Decode(data, maxTagParts); err != nil || !d.Entry.Equal(e) {
			t.Errorf("%d bytes: got %+v, %v", len(proof), d.Entry, err)
		}
	}
}

// TestDirectory_Announce_theLongestHeaderHasRoomForAProof: each field as long as it may be, with characters that
// JSON writes as two.
func TestDirectory_Announce_theLongestHeaderHasRoomForAProof(t *testing.T) {
	e := entry(strings.Repeat("i", directory.MaxInstanceBytes), 1)
	long := strings.Repeat(`"`, directory.MaxTextBytes)
	e.Name, e.Host, e.Backend, e.Role, e.Mirror = long, long, long, directory.Role(long), e.Instance
	e.Addresses = nil
	for i := range directory.MaxAddresses {
		ip := netip.MustParseAddr(fmt.Sprintf("fe80:1111:2222:3333:4444:5555:6666:%x", 0x1000+i))
		e.Addresses = append(e.Addresses, netip.AddrPortFrom(ip.WithZone(strings.Repeat(`"`, 200)), 65535))
	}
	e.Monitor = e.Addresses[0]
	e.Proof = bytes.Repeat([]byte{0xff}, directory.MaxProofBytes)
	data := encode(t, e)
	if d, err := file.Decode(data, maxTagParts); err != nil || !d.Entry.Equal(e) {
		t.Errorf("got %v, want the entry", err)
	}
	if n := bytes.IndexByte(data, '\n'); n < 48<<10 {
		t.Errorf("got a header of %d bytes, want one near the limit of 64 KiB", n)
	}
}
