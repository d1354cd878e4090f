// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm

import (
	"errors"
	"net/netip"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tagbus/netio"
	"tagbus/netio/internal/sealed"
)

// Peer is the other side of a connection, and does what a hostile one may do.
type Peer struct {
	fd    int
	shape shape
	own   []byte
	other []byte
	tail  uint64
}

// peerShape is that of the segments of peers.
var peerShape = shape{slots: 16, arena: 16 << 10}

// GoodSeals are those of a segment that is as it should be.
const GoodSeals = sealed.Seals

// NewPeer returns one without a connection.
func NewPeer() *Peer { return &Peer{fd: -1, shape: peerShape} }

// Connect connects to a listen endpoint, and says nothing.
func Connect(folder string, addr netip.AddrPort) (*Peer, error) {
	fd, err := newSocket()
	if err != nil {
		return nil, err
	}
	p := NewPeer()
	p.fd = fd
	return p, connect(fd, filepath.Join(folder, addr.String()))
}

// Close ends the peer, as the end of its process does.
func (p *Peer) Close() {
	_ = unix.Close(p.fd)
	unmap(&p.own)
	unmap(&p.other)
}

// Greeting returns a greeting that is in order, with a region of some bytes.
func (p *Peer) Greeting(region int) []byte {
	g := greeting{shape: peerShape, region: int64(region), boot: bootID()}
	return g.append(nil)
}

// SegmentBytes returns the size of its segment.
func (p *Peer) SegmentBytes() int { return p.shape.bytes() }

// SegmentFile returns a file for its segment, as it should be.
func (p *Peer) SegmentFile() (fd int, err error) {
	fd, p.own, err = newSegment(p.shape)
	return fd, err
}

// MemoryFile returns a file of some bytes with some seals, of which only those up to there
// are there.
func MemoryFile(bytes, there, seals int) (fd int, err error) {
	fd, err = unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return -1, err
	}
	err = unix.Ftruncate(fd, int64(bytes))
	if there > 0 {
		err = errors.Join(err, unix.Fallocate(fd, 0, 0, int64(there)))
	}
	_, seal := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	return fd, errors.Join(err, seal)
}

// Say sends bytes and files.
func (p *Peer) Say(b []byte, files ...int) error {
	return unix.Sendmsg(p.fd, b, unix.UnixRights(files...), nil, unix.MSG_NOSIGNAL)
}

// Greet is the whole handshake.
func (p *Peer) Greet() error {
	fd, err := p.SegmentFile()
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := p.Say(p.Greeting(0), fd); err != nil {
		return err
	}
	return p.Answered()
}

// Answered waits for the greeting of the other side.
func (p *Peer) Answered() error {
	for {
		g, files, err := receiveGreeting(p.fd)
		if errors.Is(err, unix.EAGAIN) {
			if !p.Await() {
				return unix.ECONNRESET
			}
			continue
		}
		if err != nil {
			return err
		}
		defer closeAll(files)
		p.other, err = mapPeer(files[0], int64(g.shape.bytes()))
		return err
	}
}

// Await waits until the other side says something, and reports false if it has closed.
func (p *Peer) Await() bool {
	for {
		set := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN | unix.POLLRDHUP}}
		if _, err := unix.Poll(set, -1); errors.Is(err, unix.EINTR) {
			continue
		}
		return set[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) == 0
	}
}

// Closed waits until the other side has closed.
func (p *Peer) Closed() {
	for p.Await() {
		p.Drain()
	}
}

// Drain reads what has woken it.
func (p *Peer) Drain() { drain(p.fd, new(rightsBuffer)) }

// Piece is a descriptor.
type Piece struct {
	Size, N uint32
	Offset  uint64
	Place   uint8
	Inline  uint8
	Bytes   [inlineBytes]byte
}

// Put writes a descriptor, and publishes it.
func (p *Peer) Put(piece Piece) {
	d := descriptor{piece.Size, piece.N, piece.Offset, place(piece.Place), piece.Inline, piece.Bytes}
	if d.inline > inlineBytes {
		d.inline = 0 // put slices
	}
	at := p.own[pageBytes+(p.tail%uint64(p.shape.slots))*descriptorBytes:]
	d.put(at)
	at[17] = piece.Inline
	p.tail++
	p.Publish(p.tail)
}

// Publish says that so many descriptors are there.
func (p *Peer) Publish(n uint64) { set(&pageOf(p.own).published, n); p.Wake() }

// Read says that it has read so many descriptors.
func (p *Peer) Read(n uint64) { set(&pageOf(p.own).position, n); p.Wake() }

// Final says that it has closed, and up to where it may be read.
func (p *Peer) Final(n uint64) { set(&pageOf(p.own).final, n+1); p.Wake() }

// Want asks to be woken.
func (p *Peer) Want(n uint64) { set(&pageOf(p.own).wanted, n) }

// Wake wakes the other side.
func (p *Peer) Wake() { wake(p.fd) }

// Published returns how much the other side has published.
func (p *Peer) Published() uint64 { return pageOf(p.other).published.Load() }

// Arena returns its arena.
func (p *Peer) Arena() []byte { return p.own[p.shape.ringEnd():] }

// Other returns the segment of the other side.
func (p *Peer) Other() []byte { return p.other }

// SegmentFile returns the file of a segment.
func SegmentFile(p *Peer) (fd int, err error) {
	p.shape = peerShape
	if fd, err = p.SegmentFile(); err == nil {
		unmap(&p.own)
	}
	return fd, err
}

// ReadAll reads a ring of 16 descriptors that begins with some bytes, and returns the sizes
// of the messages.
func ReadAll(ring []byte, published, final uint64, limit int) (sizes []int, err error) {
	s := shape{slots: 16, arena: minArena}
	mem, own := make([]byte, s.bytes()), make([]byte, pageBytes)
	copy(mem[pageBytes:s.ringEnd()], ring)
	pageOf(mem).published.Store(published)
	pageOf(mem).final.Store(final)
	var r reader
	r.open(pageOf(own), s, mem, make([]byte, 100), netio.ReceiveParams{FirstMessageBytes: limit, MaxMessageBytes: limit})
	n, err := r.look()
	if err != nil {
		return nil, err
	}
	bytes := 0
	for range n {
		front, data, err := r.next()
		if err != nil {
			return sizes, err
		}
		bytes += len(front) + len(data)
		if r.whole() {
			sizes, bytes = append(sizes, bytes), 0
		}
		r.advance()
	}
	return sizes, nil
}

// ParseGreeting parses a greeting, and returns what would be sent of it.
func ParseGreeting(b []byte) ([]byte, error) {
	g, err := parseGreeting(b)
	if err != nil {
		return nil, err
	}
	return g.append(nil), nil
}
