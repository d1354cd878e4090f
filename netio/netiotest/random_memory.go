// SPDX-License-Identifier: Apache-2.0

package netiotest

import (
	"encoding/binary"
	"os"
	"unsafe"

	"tagbus/netio"
)

// signatures are marks in the memory of buffers, by which it can be seen
// whether that memory is still there when it should have gone back to the
// system. Not every mark lasts: a message may be written over it.
type signatures struct {
	at []signature
}

type signature struct {
	addr uintptr
	mark [16]byte
}

// sign marks the memory behind what is written in b.
func (s *signatures) sign(b *netio.Buffer) {
	if room := b.Available() - len(signature{}.mark); room >= 0 {
		used := len(b.Bytes())
		s.put(b.Extend(room + len(signature{}.mark))[room:])
		b.Truncate(used)
	}
}

// put marks memory.
func (s *signatures) put(mem []byte) {
	mark := signature{addr: uintptr(unsafe.Pointer(unsafe.SliceData(mem)))}
	binary.LittleEndian.PutUint64(mark.mark[:], ^uint64(mark.addr))
	binary.LittleEndian.PutUint64(mark.mark[8:], uint64(len(s.at))<<32|uint64(os.Getpid()))
	copy(mem, mark.mark[:])
	s.at = append(s.at, mark)
}

// check fails the test if some of the memory is still there.
func (s *signatures) check(t TB) {
	t.Helper()
	if len(s.at) == 0 || !regionsGo(t) {
		return
	}
	if left := s.left(t); left > 0 {
		t.Errorf("memory of send buffers: got %d of %d signatures still there when all backends are closed and all buffers released, want none",
			left, len(s.at))
	}
}

// left counts the marks that can still be read.
func (s *signatures) left(t TB) (count int) {
	t.Helper()
	mem, err := os.Open("/proc/self/mem") // reads what is not there as an error
	if err != nil {
		t.Fatalf("open the memory of the process: got error %v, want none", err)
	}
	defer func() { _ = mem.Close() }()
	for _, mark := range s.at {
		var got [16]byte
		if _, err := mem.ReadAt(got[:], int64(mark.addr)); err == nil && got == mark.mark {
			count++
		}
	}
	return count
}

// regionsGo reports whether freed regions are gone, which they are not in a race
// build: there they come from the heap.
func regionsGo(t TB) bool {
	t.Helper()
	region, err := netio.AllocRegion(len(signature{}.mark))
	if err != nil {
		t.Fatalf("AllocRegion: got error %v, want none", err)
	}
	var s signatures
	s.put(region)
	if err := netio.FreeRegion(region); err != nil {
		t.Fatalf("FreeRegion: got error %v, want none", err)
	}
	return s.left(t) == 0
}
