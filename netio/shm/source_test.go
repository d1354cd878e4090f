// SPDX-License-Identifier: Apache-2.0

//go:build linux

package shm_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"tagbus/netio"
)

const (
	pageSize  = 32 << 10
	pageCount = 32
)

// source sends numbered messages without end: pages that are lent, with a header or
// without, and small ones that are copied, as many as there is room for.
type source struct {
	netio.NopHandler
	region    []byte
	number    uint64
	free      []int // pages
	pages     map[netio.Key]int
	accepted  []netio.Key
	reported  []netio.Key
	completed func(n int)
	closed    func(keys []netio.Key, cause error)
}

func newSource() (*source, error) {
	region, err := netio.AllocSharedRegion(pageSize * pageCount)
	s := &source{region: region, pages: make(map[netio.Key]int)}
	for i := range pageCount {
		s.free = append(s.free, i)
	}
	return s, err
}

func (s *source) OnConnectionEstablished(ep netio.Endpoint) { s.fill(ep) }
func (s *source) OnSendReady(ep netio.Endpoint)             { s.fill(ep) }

func (s *source) OnSendCompleted(c netio.Completion) {
	s.reported = append(s.reported, c.Key)
	if page, ok := s.pages[c.Key]; ok {
		delete(s.pages, c.Key)
		s.free = append(s.free, page)
	}
	if s.completed != nil {
		s.completed(len(s.reported))
	}
	s.fill(c.Endpoint)
}

func (s *source) OnConnectionClosed(_ netio.Endpoint, keys []netio.Key, cause error) {
	s.reported = append(s.reported, keys...)
	if s.closed != nil {
		s.closed(keys, cause)
	}
}

func (s *source) fill(ep netio.Endpoint) {
	for {
		key := netio.Key(s.number)
		var header [8]byte
		binary.LittleEndian.PutUint64(header[:], s.number)
		var err error
		if s.number%3 == 0 {
			err = ep.SendCopy(key, header[:], header[:])
		} else {
			if len(s.free) == 0 {
				return
			}
			page := s.free[len(s.free)-1]
			mem := s.region[page*pageSize:][:pageSize]
			mem = mem[:9+s.number*977%(pageSize-8)]
			for i := range mem {
				mem[i] = byte(s.number)
			}
			copy(mem, header[:])
			err = ep.Send(key, header[:s.number%2*8], mem)
			if err == nil {
				s.free = s.free[:len(s.free)-1]
				s.pages[key] = page
			}
		}
		if err != nil {
			return
		}
		s.accepted = append(s.accepted, key)
		s.number++
	}
}

// sink checks what a source sends.
type sink struct {
	netio.NopHandler
	number uint64
	wrong  error
	data   func(n uint64)
	closed func(cause error)
}

func (s *sink) OnData(_ netio.Endpoint, data []byte) {
	if n := binary.LittleEndian.Uint64(data); n != s.number {
		s.wrong = errors.Join(s.wrong, fmt.Errorf("message %d: got number %d", s.number, n))
	}
	if s.number%3 != 0 {
		body := data[8+s.number%2*8:]
		if len(body) > 0 && bytes.Count(body, body[:1]) != len(body) || len(body) > 0 && body[0] != byte(s.number) {
			s.wrong = errors.Join(s.wrong, fmt.Errorf("message %d: its bytes are not its own", s.number))
		}
	}
	s.number++
	if s.data != nil {
		s.data(s.number)
	}
}

func (s *sink) OnConnectionEstablished(netio.Endpoint) { s.number = 0 }

func (s *sink) OnConnectionClosed(_ netio.Endpoint, _ []netio.Key, cause error) {
	if s.closed != nil {
		s.closed(cause)
	}
}
