// SPDX-License-Identifier: Apache-2.0

package away

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The operations of the protocol that are answered with more than ENOSYS. FLUSH is not one: the
// kernel asks for it when a file is closed, at the end of a process too, where no signal ends the
// wait, and never again after ENOSYS.
const (
	fuseLookup, fuseForget, fuseGetattr, fuseSetattr                 = 1, 2, 3, 4
	fuseUnlink, fuseRename, fuseOpen, fuseRead, fuseWrite            = 10, 12, 14, 15, 16
	fuseStatfs, fuseRelease, fuseFsync, fuseInit                     = 17, 18, 20, 26
	fuseOpendir, fuseReaddir, fuseReleasedir, fuseFsyncdir           = 27, 28, 29, 30
	fuseCreate, fuseInterrupt, fuseDestroy, fuseForgets, fuseRename2 = 35, 36, 38, 42, 45

	fuseHeader   = 40 // bytes before what is asked
	fuseMaxWrite = 128 << 10
	fuseRoot     = 1
	fuseDirect   = 1 // FOPEN_DIRECT_IO: nothing is cached
)

// fuseFile is a file, which lives on when its name is gone.
type fuseFile struct {
	node  uint64
	data  []byte
	mtime time.Time
}

// Mount is a file system that is mounted.
type Mount struct {
	path string
	fd   int
	wake [2]int // a pipe: the server is to look whether it is away

	mu    sync.Mutex
	away  bool
	last  uint64
	files map[uint64]*fuseFile
	names map[string]*fuseFile
	root  time.Time // of the last change of names
}

// New mounts a file system in a new folder until the test ends. A test is skipped that may not.
func New(tb testing.TB) *Mount {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Skip("needs root, to mount a file system")
	}
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		tb.Skipf("needs /dev/fuse: %v", err)
	}
	m := &Mount{path: tb.TempDir(), fd: fd, last: fuseRoot, files: make(map[uint64]*fuseFile), names: make(map[string]*fuseFile), root: time.Now()}
	if err := unix.Pipe2(m.wake[:], unix.O_CLOEXEC); err != nil {
		tb.Fatal(err)
	}
	if err := unix.Mount("tagbus-test", m.path, "fuse", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other", fd)); err != nil {
		tb.Skipf("needs the right to mount a file system of FUSE: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.serve()
	}()
	tb.Cleanup(func() {
		if err := unix.Unmount(m.path, unix.MNT_DETACH|unix.MNT_FORCE); err != nil { // what waits is told
			tb.Errorf("unmount: %v", err)
		}
		_ = unix.Close(m.wake[1]) // ends the server
		<-ended
		_, _ = unix.Close(m.wake[0]), unix.Close(m.fd)
	})
	m.settle(tb)
	return m
}

// settle makes the kernel ask once for what it never asks again after ENOSYS: POLL and FLUSH. Package
// os polls each file that it opens, from within the runtime, which keeps the processor
// meanwhile: with few of them the server, which is in the same process, would never run. A call of
// package unix gives the processor away.
func (m *Mount) settle(tb testing.TB) {
	tb.Helper()
	path := filepath.Join(m.path, "settled")
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
	if err != nil {
		tb.Fatalf("open: %v", err)
	}
	if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0); err != nil {
		tb.Fatalf("poll: %v", err)
	}
	if err := unix.Close(fd); err != nil {
		tb.Fatalf("close: %v", err)
	}
	if err := unix.Unlink(path); err != nil {
		tb.Fatalf("unlink: %v", err)
	}
}

// Path returns the folder.
func (m *Mount) Path() string { return m.path }

// Goes makes the server go away.
func (m *Mount) Goes() { m.be(true) }

// Returns makes the server come back: what waits in the kernel is answered.
func (m *Mount) Returns() { m.be(false) }

func (m *Mount) be(away bool) {
	m.mu.Lock()
	m.away = away
	m.mu.Unlock()
	_, _ = unix.Write(m.wake[1], []byte{0})
}

// serve answers until the pipe is closed. What is asked while the server is away stays in the
// kernel, where the process that waits for it can be killed, as one that waits for NFS.
func (m *Mount) serve() {
	buffer := make([]byte, fuseMaxWrite+4096)
	for {
		polled := []unix.PollFd{{Fd: int32(m.wake[0]), Events: unix.POLLIN}, {Fd: int32(m.fd), Events: unix.POLLIN}}
		m.mu.Lock()
		if m.away {
			polled = polled[:1]
		}
		m.mu.Unlock()
		if _, err := unix.Poll(polled, -1); err != nil {
			continue // a signal
		}
		if polled[0].Revents != 0 {
			if n, _ := unix.Read(m.wake[0], buffer); n <= 0 {
				return
			}
			continue
		}
		n, err := unix.Read(m.fd, buffer)
		if err == unix.ENODEV { // it is not mounted any more
			polled = polled[:1]
			_, _ = unix.Poll(polled, -1)
			return
		}
		if err == nil && n >= fuseHeader {
			m.answer(buffer[:n])
		}
	}
}

// answer answers one request.
func (m *Mount) answer(b []byte) {
	opcode := binary.NativeEndian.Uint32(b[4:])
	unique, node := binary.NativeEndian.Uint64(b[8:]), binary.NativeEndian.Uint64(b[16:])
	switch opcode {
	case fuseForget, fuseForgets, fuseInterrupt:
		return
	}
	m.mu.Lock()
	body, errno := m.do(opcode, node, b[fuseHeader:])
	m.mu.Unlock()
	out := binary.NativeEndian.AppendUint32(nil, uint32(16+len(body)))
	out = binary.NativeEndian.AppendUint32(out, uint32(-int32(errno)))
	out = binary.NativeEndian.AppendUint64(out, unique)
	_, _ = unix.Write(m.fd, append(out, body...)) // who asked may be gone
}

// do does what is asked for.
func (m *Mount) do(opcode uint32, node uint64, in []byte) (out []byte, errno unix.Errno) {
	u32, u64 := binary.NativeEndian.Uint32, binary.NativeEndian.Uint64
	f := m.files[node]
	switch opcode {
	case fuseInit:
		return put(uint32(7), uint32(31), uint32(0), uint32(0), uint16(16), uint16(12), uint32(fuseMaxWrite), uint32(1), make([]byte, 36)), 0
	case fuseLookup:
		if f = m.names[text(in)]; f == nil {
			return nil, unix.ENOENT
		}
		return entryOf(f), 0
	case fuseGetattr, fuseSetattr:
		if opcode == fuseSetattr && f != nil && u32(in)&(1<<3) != 0 { // FATTR_SIZE
			f.resize(int(u64(in[16:])))
		}
		return put(uint64(0), uint64(0), m.attributes(f)), 0
	case fuseCreate:
		m.last++
		f = &fuseFile{node: m.last, mtime: time.Now()}
		m.files[f.node], m.names[text(in[16:])], m.root = f, f, time.Now()
		return put(entryOf(f), uint64(0), uint32(fuseDirect), uint32(0)), 0
	case fuseOpen:
		return put(uint64(0), uint32(fuseDirect), uint32(0)), 0
	case fuseOpendir:
		return make([]byte, 16), 0
	case fuseRead:
		from := min(int(u64(in[8:])), len(f.data))
		return slices.Clone(f.data[from:min(from+int(u32(in[16:])), len(f.data))]), 0
	case fuseWrite:
		at, size := int(u64(in[8:])), int(u32(in[16:]))
		f.resize(max(at+size, len(f.data)))
		copy(f.data[at:], in[40:40+size])
		return put(uint32(size), uint32(0)), 0
	case fuseReaddir:
		return m.list(int(u64(in[8:])), int(u32(in[16:]))), 0
	case fuseUnlink:
		delete(m.names, text(in))
		m.root = time.Now()
		return nil, 0
	case fuseRename, fuseRename2:
		skip := map[uint32]int{fuseRename: 8, fuseRename2: 16}[opcode]
		from := text(in[skip:])
		to := text(in[skip+len(from)+1:])
		m.names[to], m.root = m.names[from], time.Now()
		delete(m.names, from)
		return nil, 0
	case fuseStatfs:
		return put(uint64(1<<20), uint64(1<<20), uint64(1<<20), uint64(1<<20), uint64(1<<20), uint32(4096), uint32(255), uint32(4096), make([]byte, 28)), 0
	case fuseRelease, fuseFsync, fuseReleasedir, fuseFsyncdir, fuseDestroy:
		return nil, 0
	}
	return nil, unix.ENOSYS
}

func (f *fuseFile) resize(size int) {
	f.data, f.mtime = append(f.data[:min(size, len(f.data))], make([]byte, max(0, size-len(f.data)))...), time.Now()
}

// list returns names from an offset on, in as many bytes at most.
func (m *Mount) list(from, size int) (out []byte) {
	for i, name := range slices.Sorted(maps.Keys(m.names)) {
		if i < from {
			continue
		}
		entry := put(m.names[name].node, uint64(i+1), uint32(len(name)), uint32(unix.DT_REG), []byte(name))
		entry = append(entry, make([]byte, -len(entry)&7)...)
		if len(out)+len(entry) > size {
			break
		}
		out = append(out, entry...)
	}
	return out
}

// attributes returns those of a file, or of the folder if it is nil.
func (m *Mount) attributes(f *fuseFile) []byte {
	if f == nil {
		return attributes(fuseRoot, 0, m.root, unix.S_IFDIR|0o755)
	}
	return attributesOf(f)
}

func attributesOf(f *fuseFile) []byte {
	return attributes(f.node, len(f.data), f.mtime, unix.S_IFREG|0o644)
}

// attributes returns a struct fuse_attr.
func attributes(node uint64, size int, at time.Time, mode uint32) []byte {
	s, n := uint64(at.Unix()), uint32(at.Nanosecond())
	return put(node, uint64(size), uint64(0), s, s, s, n, n, n, mode, uint32(1), uint32(0), uint32(0), uint32(0), uint32(4096), uint32(0))
}

// entryOf returns a struct fuse_entry_out, which is valid for no time.
func entryOf(f *fuseFile) []byte { return put(f.node, make([]byte, 32), attributesOf(f)) }

// put returns the bytes of some values.
func put(values ...any) []byte {
	var b bytes.Buffer
	for _, v := range values {
		_ = binary.Write(&b, binary.NativeEndian, v) // of known sizes
	}
	return b.Bytes()
}

// text returns the text before a zero byte.
func text(b []byte) string {
	before, _, _ := bytes.Cut(b, []byte{0})
	return string(before)
}
