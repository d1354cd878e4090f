// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"tagbus/netio/internal/mutual"
)

// Each side introduces itself with one greeting, that of the one that has connected
// first. With it come the files of its memory: the segment, and the region that it lends,
// if there is one.
//
//	offset  bytes  content
//	0       8      "tagbus\x00M"
//	8       4      version, 1
//	12      4      descriptors of the segment, a power of two
//	16      8      bytes of its arena
//	24      8      bytes of the region; 0: there is none
//	32      16     the id of this run of the system; zero: it is not known
//	48      2      of the side that has accepted: the port that the other side is given
//	50      14     zero
//
// Integers are in little-endian byte order. Behind the greetings a byte on the socket,
// any, wakes the other side.
const (
	greetingBytes = 64
	version       = 1
	maxRegion     = 1 << 44
)

var magic = [8]byte{'t', 'a', 'g', 'b', 'u', 's', 0, 'M'}

// greeting is what a side says of itself.
type greeting struct {
	shape  shape
	region int64
	boot   [16]byte
	port   uint16
}

func (g *greeting) append(to []byte) []byte {
	to = append(to, magic[:]...)
	to = binary.LittleEndian.AppendUint32(to, version)
	to = binary.LittleEndian.AppendUint32(to, uint32(g.shape.slots))
	to = binary.LittleEndian.AppendUint64(to, uint64(g.shape.arena))
	to = binary.LittleEndian.AppendUint64(to, uint64(g.region))
	to = append(to, g.boot[:]...)
	to = binary.LittleEndian.AppendUint16(to, g.port)
	return append(to, make([]byte, 14)...)
}

// parseGreeting returns what a peer of this host has said. Errors: ErrHandshake, wrapped.
func parseGreeting(b []byte) (g greeting, err error) {
	if len(b) != greetingBytes || !bytes.Equal(b[:8], magic[:]) {
		return g, fmt.Errorf("%w: %d bytes that are no greeting", ErrHandshake, len(b))
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != version {
		return g, fmt.Errorf("%w: the peer speaks version %d, this side %d", ErrHandshake, v, version)
	}
	slots, arena, region := binary.LittleEndian.Uint32(b[12:]), binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
	g.shape.slots = int(min(slots, maxSlots+1))
	g.shape.arena = int(min(arena, maxArena+1))
	if !g.shape.valid() || region > maxRegion {
		return g, fmt.Errorf("%w: memory of %d descriptors and %d bytes, and a region of %d bytes", ErrHandshake, slots, arena, region)
	}
	g.region = int64(region)
	copy(g.boot[:], b[32:])
	g.port = binary.LittleEndian.Uint16(b[48:])
	if own, unknown := bootID(), [16]byte{}; g.boot != own && g.boot != unknown && own != unknown {
		return g, fmt.Errorf("%w: the peer is on another host, or was before its system began again", ErrHandshake)
	}
	return g, nil
}

// files returns how many files come with g.
func (g *greeting) files() int {
	if g.region > 0 {
		return 2
	}
	return 1
}

// sendGreeting sends a greeting and its files. Errors: the system's.
func sendGreeting(fd int, g *greeting, files ...int) error {
	b := g.append(make([]byte, 0, greetingBytes))
	return retry(func() error {
		// The buffer of a socket that nothing was sent to has room for it.
		_, err := unix.SendmsgN(fd, b, unix.UnixRights(files...), nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		return err
	})
}

// receiveGreeting receives a greeting and its files, which are the caller's to close.
//
// Errors: unix.EAGAIN if it has not come; unix.EMFILE if the process has no descriptors
// for its files; errForeign; ErrHandshake, wrapped; the system's. With an error there are no files.
func receiveGreeting(fd int) (g greeting, files []int, err error) {
	if foreign.full() {
		return g, nil, errForeign
	}
	var b [greetingBytes]byte
	var control rightsBuffer
	n, m, flags, errno := receive(fd, b[:], &control)
	if errno != 0 {
		return g, nil, errno
	}
	files = rights(control[:m])
	switch g, err = parseGreeting(b[:n]); {
	case n == 0:
		err = unix.ECONNRESET
	case strings.HasPrefix(string(b[:n]), tlsOnlyMark):
		err = &tlsError{ErrPeerSpeaksTLS}
	case n >= 3 && mutual.IsHello(b[:3]):
		_, _ = unix.SendmsgN(fd, mutual.PlainAlert, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL) // a socket that is new has room
		err = &tlsError{ErrPeerSpeaksTLS}
	case err != nil:
	case flags&unix.MSG_CTRUNC != 0 && len(files) < g.files():
		err = unix.EMFILE
	case flags&unix.MSG_CTRUNC != 0 || len(files) != g.files():
		err = fmt.Errorf("%w: %d files with a greeting, want %d", ErrHandshake, len(files), g.files())
	}
	if err == nil && slices.ContainsFunc(files, isForeign) {
		err = fmt.Errorf("%w: files that are no memory", ErrHandshake)
	}
	if err != nil {
		discard(files)
		return g, nil, err
	}
	return g, files, nil
}

// closeAll closes files.
func closeAll(files []int) {
	for _, fd := range files {
		_ = unix.Close(fd)
	}
}

// bootID returns the id of this run of the system, the same for all processes of a host; zero
// where this one cannot read it. A variable for tests.
var bootID = sync.OnceValue(func() (id [16]byte) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return id
	}
	n := 0
	for _, digit := range bytes.ReplaceAll(bytes.TrimSpace(text), []byte("-"), nil) {
		if n/2 == len(id) {
			break
		}
		value := digit - '0'
		if digit >= 'a' {
			value = digit - 'a' + 10
		}
		id[n/2] = id[n/2]<<4 | value&15
		n++
	}
	return id
})
