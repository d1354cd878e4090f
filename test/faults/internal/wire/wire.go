// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Package wire carries packets between two hosts of a bed, and delays, reorders and doubles them. It needs no more of
// the kernel than tunnels (/dev/net/tun), which a virtual machine without netem has, too.
package wire

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"tagbus/test/faults/internal/bed"
)

// Config says what happens to packets, alike in both directions. The zero value carries them as they are.
type Config struct {
	Delay time.Duration
	Early int // of 100 packets those that are not delayed, and so overtake others
	Twice int // of 100 packets those that come twice
}

// Counts are what has happened to packets.
type Counts struct {
	Delayed, Early, Twice, Lost int64
}

const (
	device = "tunnel"

	// room is for packets that are delayed, in one direction. What finds none is lost: 200 ms of 100,000 packets
	// in a second.
	room = 20_000

	packetBytes = 1500
)

// Wire is between two hosts. Close it.
type Wire struct {
	b       *bed.Bed
	cfg     Config
	ends    []*os.File
	readers sync.WaitGroup
	writers sync.WaitGroup

	delayed, early, twice, lost atomic.Int64
}

// late is a packet that is on its way.
type late struct {
	data []byte
	due  time.Time
}

// Over leads what the hosts of a bed send to each other over a Wire. Connections that are there go on over it.
//
// Errors: the system's, with what was tried.
func Over(b *bed.Bed, cfg Config) (*Wire, error) {
	w := &Wire{b: b, cfg: cfg}
	for _, host := range []bed.Host{b.A, b.B} {
		end, err := open(host)
		if err != nil {
			w.end()
			return nil, err
		}
		w.ends = append(w.ends, end)
	}
	// Before packets are carried: a tunnel that is not up refuses them.
	if err := errors.Join(b.IP("-n A link set "+device+" up"), b.IP("-n B link set "+device+" up")); err != nil {
		w.end()
		return nil, err
	}
	for i, from := range w.ends {
		packets := make(chan late, room)
		w.readers.Go(func() { w.take(from, w.ends[1-i], packets) })
		w.writers.Go(func() { w.bring(w.ends[1-i], packets) })
	}
	for _, line := range []string{
		"-n A route add " + bed.AddressB + "/32 dev " + device + " src " + bed.AddressA,
		"-n B route add " + bed.AddressA + "/32 dev " + device + " src " + bed.AddressB,
	} {
		if err := b.IP(line); err != nil {
			w.end()
			return nil, err
		}
	}
	return w, nil
}

// open makes a tunnel on a host.
func open(host bed.Host) (end *os.File, err error) {
	err = host.Do(func() error {
		fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != nil {
			return fmt.Errorf("wire: /dev/net/tun: %w", err)
		}
		request, err := unix.NewIfreq(device)
		if err == nil {
			request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
		}
		if err != nil {
			_ = unix.Close(fd)
			return fmt.Errorf("wire: a tunnel on host %s: %w", host.Name, err)
		}
		end = os.NewFile(uintptr(fd), device) // after the call: only then can it be waited for
		return nil
	})
	return end, err
}

// take takes what a host sends.
func (w *Wire) take(from, to *os.File, packets chan<- late) {
	defer close(packets)
	buffer := make([]byte, packetBytes)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		copies := 1
		if rand.IntN(100) < w.cfg.Twice {
			w.twice.Add(1)
			copies = 2
		}
		for range copies {
			if w.cfg.Delay == 0 || rand.IntN(100) < w.cfg.Early {
				w.early.Add(1)
				w.put(to, buffer[:n])
				continue
			}
			w.delayed.Add(1)
			select {
			case packets <- late{append([]byte(nil), buffer[:n]...), time.Now().Add(w.cfg.Delay)}:
			default:
				w.lost.Add(1)
			}
		}
	}
}

// bring brings each packet when it is due.
func (w *Wire) bring(to *os.File, packets <-chan late) {
	for p := range packets {
		<-time.After(time.Until(p.due))
		w.put(to, p.data)
	}
}

func (w *Wire) put(to io.Writer, packet []byte) {
	if _, err := to.Write(packet); err != nil {
		w.lost.Add(1)
	}
}

// Counts returns what has happened to packets so far.
func (w *Wire) Counts() Counts {
	return Counts{w.delayed.Load(), w.early.Load(), w.twice.Load(), w.lost.Load()}
}

// Close leads packets as before, when those that are on their way have come.
//
// Errors: the system's.
func (w *Wire) Close() error {
	err := errors.Join(w.b.IP("-n A route del "+bed.AddressB+"/32 dev "+device), w.b.IP("-n B route del "+bed.AddressA+"/32 dev "+device))
	w.end()
	return err
}

// end waits for the goroutines, if they have begun, and gives the tunnels up.
func (w *Wire) end() {
	for _, end := range w.ends {
		_ = end.SetReadDeadline(time.Now())
	}
	w.readers.Wait()
	w.writers.Wait()
	for _, end := range w.ends {
		_ = end.Close()
	}
}
