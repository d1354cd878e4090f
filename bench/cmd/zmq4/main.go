// SPDX-License-Identifier: Apache-2.0

//go:build cgo

// Command zmq4 is the benchmark program of libzmq used from Go, by the binding
// github.com/pebbe/zmq4. It needs cgo and libzmq.
package main

import (
	"encoding/binary"

	"github.com/pebbe/zmq4"

	"tagbus/bench/internal/load"
)

// A message begins with its tag, big-endian, to which subscribers subscribe.
const tagBytes = 8

// highWater is the limit of messages that wait in a socket.
const highWater = 10_000

func main() {
	o := load.Parse()
	switch {
	case o.Work == load.WorkPingPong:
		pingPong(o)
	case o.Role == load.RolePub:
		publish(o)
	default:
		subscribe(o)
	}
}

// open makes a socket. server: it is the one that binds, and makes the keys.
func open(o load.Options, kind zmq4.Type, server bool) *zmq4.Socket {
	s, err := zmq4.NewSocket(kind)
	load.Must(err)
	load.Must(s.SetSndhwm(highWater))
	load.Must(s.SetRcvhwm(highWater))
	load.Must(s.SetLinger(0))
	if o.Secure {
		secure(s, server)
	}
	return s
}

func bind(s *zmq4.Socket) {
	load.Must(s.Bind("tcp://127.0.0.1:*"))
	addr, err := s.GetLastEndpoint()
	load.Must(err)
	load.Listening(addr)
}

func publish(o load.Options) {
	s := open(o, zmq4.XPUB, true)
	load.Must(s.SetXpubNodrop(true))
	load.Must(s.SetXpubVerbose(1)) // every subscriber's subscription, to count them
	bind(s)
	load.AwaitGo()
	for range o.Subscribers * o.Tags {
		_, err := s.RecvBytes(0)
		load.Must(err)
	}
	w := &sender{s: s, data: load.NewMessage(tagBytes + o.Size)}
	load.Fill(w.data[tagBytes:])
	load.Publish(o, load.System{Sender: func(load.Options) load.Sender { return w }, Flush: func() {}})
}

// sender publishes; a socket belongs to one goroutine.
type sender struct {
	s    *zmq4.Socket
	data []byte
}

// Publish implements load.Sender.
func (w *sender) Publish(tag int, sequence uint64, lane uint32, due int64) {
	binary.BigEndian.PutUint64(w.data, uint64(tag))
	load.Stamp(w.data[tagBytes:], sequence, lane, due)
	_, err := w.s.SendBytes(w.data, 0)
	load.Must(err)
}

func subscribe(o load.Options) {
	s := open(o, zmq4.SUB, false)
	load.Must(s.Connect(o.Addr))
	var tag [tagBytes]byte
	for i := range o.Tags {
		binary.BigEndian.PutUint64(tag[:], uint64(i))
		load.Must(s.SetSubscribe(string(tag[:])))
	}
	load.Ready()
	for checker := load.NewChecker(o); ; {
		b, err := s.RecvBytes(0)
		load.Must(err)
		if checker.Take(b[tagBytes:]) {
			checker.Result().Report()
			return
		}
	}
}

func pingPong(o load.Options) {
	s := open(o, zmq4.PAIR, o.Role == load.RolePub)
	if o.Role == load.RoleSub {
		load.Must(s.Connect(o.Addr))
		load.Ready()
		for {
			b, err := s.RecvBytes(0)
			load.Must(err)
			_, err = s.SendBytes(b, 0)
			load.Must(err)
		}
	}
	bind(s)
	load.AwaitGo()
	player := load.NewPings(o, func(data []byte) {
		_, err := s.SendBytes(data, 0)
		load.Must(err)
	})
	for player.Start(); ; {
		b, err := s.RecvBytes(0)
		load.Must(err)
		if player.Return(b) {
			player.Result().Report()
			load.AwaitQuit()
			return
		}
	}
}
