// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// With TLS each side says one bond inside the encrypted stream, behind the handshake: the side that
// has connected first. It binds the certificates to the socket and to the memory, which are not
// encrypted: another process that only passes the handshake on has another user, or other memory.
//
//	offset  bytes  content
//	0       8      "tagbus\x00U"
//	8       4      version, 1
//	12      4      the effective user of the process
//	16      16     its user namespace: device and inode of /proc/self/ns/user; zero: unknown
//	32      16     the file of its segment: device and inode
//	48      16     that of the region that it lends; zero: there is none
//	64      4      of the side that has accepted: what it finds; 0: the other side is let in
//	68      12     zero
//
// Integers are in little-endian byte order.
const (
	bondBytes   = 80
	bondVersion = 1
)

var bondMagic = [8]byte{'t', 'a', 'g', 'b', 'u', 's', 0, 'U'}

// What the side that has accepted finds.
const (
	findsPeer       = 0
	findsOtherUser  = 1
	findsOtherSpace = 2
)

// fileID is which file of this host one is.
type fileID struct{ dev, ino uint64 }

// idOf returns which file a descriptor is of. Errors: the system's.
func idOf(fd int) (fileID, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstat(fd, &st) })
	return fileID{uint64(st.Dev), st.Ino}, err //nolint:unconvert // 32 bits on some processors
}

// bond is what a side says of its process and of its memory.
type bond struct {
	uid             uint32
	space           fileID
	segment, region fileID
	finds           uint32
}

// encoded returns the bond as it is sent.
func (b *bond) encoded() []byte {
	to := append(make([]byte, 0, bondBytes), bondMagic[:]...)
	to = binary.LittleEndian.AppendUint32(to, bondVersion)
	to = binary.LittleEndian.AppendUint32(to, b.uid)
	for _, id := range []fileID{b.space, b.segment, b.region} {
		to = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(to, id.dev), id.ino)
	}
	to = binary.LittleEndian.AppendUint32(to, b.finds)
	return append(to, make([]byte, 12)...)
}

// parseBond returns what a peer has said. Errors: ErrHandshake, wrapped.
func parseBond(p []byte) (b bond, err error) {
	if len(p) != bondBytes || !bytes.Equal(p[:8], bondMagic[:]) {
		return b, fmt.Errorf("%w: %d bytes behind the certificates that say nothing of the process", ErrHandshake, len(p))
	}
	if v := binary.LittleEndian.Uint32(p[8:]); v != bondVersion {
		return b, fmt.Errorf("%w: the peer binds its certificate by version %d, this side by %d", ErrHandshake, v, bondVersion)
	}
	b.uid = binary.LittleEndian.Uint32(p[12:])
	at := p[16:]
	for _, id := range []*fileID{&b.space, &b.segment, &b.region} {
		id.dev, id.ino = binary.LittleEndian.Uint64(at), binary.LittleEndian.Uint64(at[8:])
		at = at[16:]
	}
	b.finds = binary.LittleEndian.Uint32(at)
	if b.segment == (fileID{}) || b.finds > findsOtherSpace {
		return b, fmt.Errorf("%w: the peer binds its certificate to memory %d:%d and finds %d", ErrHandshake, b.segment.dev, b.segment.ino, b.finds)
	}
	return b, nil
}

// judge returns why a process is not the one that has shown the certificates, or nil.
//
//   - theirs: what came with the certificates.
//   - who: what the system says of the other end of the socket.
//   - finds: what the other side is told.
//   - Errors: ErrUserNamespace, ErrOtherProcess, wrapped.
func (b *bond) judge(theirs *bond, who unix.Ucred) (finds uint32, err error) {
	switch {
	case b.space == (fileID{}) || b.space != theirs.space:
		return findsOtherSpace, fmt.Errorf("%w (%d and %d)", ErrUserNamespace, b.space.ino, theirs.space.ino)
	case theirs.uid != who.Uid:
		return findsOtherUser, fmt.Errorf("%w: the certificate is of a process of user %d, and the socket of one of user %d", ErrOtherProcess, theirs.uid, who.Uid)
	}
	return findsPeer, nil
}

// refusal returns why the other side does not let this one in, or nil.
func (b *bond) refusal(own *bond) error {
	switch b.finds {
	case findsOtherSpace:
		return fmt.Errorf("%w (%d and %d)", ErrUserNamespace, b.space.ino, b.space.ino)
	case findsOtherUser:
		return fmt.Errorf("%w: this one is of user %d, and the peer sees another one", ErrOtherProcess, own.uid)
	}
	return nil
}

// holds returns why the files that have come with a greeting are not those of the bond, or nil.
//
// Errors: ErrOtherProcess, wrapped; the system's.
func (b *bond) holds(files []int) error {
	for i, want := range []fileID{b.segment, b.region} {
		var got fileID
		if i < len(files) {
			var err error
			if got, err = idOf(files[i]); err != nil {
				return err
			}
		}
		if got != want {
			return fmt.Errorf("%w: memory %d:%d has come, and the certificate is bound to %d:%d", ErrOtherProcess, got.dev, got.ino, want.dev, want.ino)
		}
	}
	return nil
}

// userSpace returns the user namespace of this process, zero if the system does not say: there is no /proc.
var userSpace = sync.OnceValue(func() fileID {
	var st unix.Stat_t
	if err := retry(func() error { return unix.Stat("/proc/self/ns/user", &st) }); err != nil {
		return fileID{}
	}
	return fileID{uint64(st.Dev), st.Ino} //nolint:unconvert // 32 bits on some processors
})
