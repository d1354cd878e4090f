// SPDX-License-Identifier: Apache-2.0

// Command nats is the benchmark program of NATS core: a server process, and the
// publisher and the subscriber with nats.go.
package main

import (
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"tagbus/bench/internal/certs"
	"tagbus/bench/internal/load"
)

func main() {
	o := load.Parse()
	switch {
	case o.Role == load.RoleServer:
		serve(o)
	case o.Work == load.WorkPingPong:
		pingPong(o)
	case o.Role == load.RolePub:
		publish(o)
	default:
		subscribe(o)
	}
}

// serve is a server that drops no slow client before 1 GiB waits for it.
func serve(o load.Options) {
	options := &server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
		MaxPayload: 8 << 20, MaxPending: 1 << 30, WriteDeadline: time.Minute,
	}
	if o.Secure {
		load.Must(certs.Make())
		config, err := certs.Config()
		load.Must(err)
		options.TLS, options.TLSVerify, options.TLSConfig = true, true, config
		options.TLSTimeout = 10
	}
	s, err := server.NewServer(options)
	load.Must(err)
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		load.Fail(errors.New("the server does not start"))
	}
	load.Listening(s.ClientURL())
	load.AwaitQuit()
	s.Shutdown()
}

func connect(o load.Options) *nats.Conn {
	options := []nats.Option{nats.ReconnectBufSize(-1)}
	if o.Secure {
		config, err := certs.Config()
		load.Must(err)
		options = append(options, nats.Secure(config))
	}
	c, err := nats.Connect(o.Addr, options...)
	load.Must(err)
	return c
}

func subjects(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = "tag." + strconv.Itoa(i)
	}
	return list
}

func publish(o load.Options) {
	c := connect(o)
	load.Listening(o.Addr)
	load.AwaitGo()
	load.Publish(o, load.System{
		Sender: func(o load.Options) load.Sender {
			return &sender{c: c, subjects: subjects(o.Tags), data: load.NewMessage(o.Size)}
		},
		Flush: func() { load.Must(c.Flush()) },
	})
	c.Close()
}

// sender publishes for one producer.
type sender struct {
	c        *nats.Conn
	subjects []string
	data     []byte
}

// Publish implements load.Sender.
func (s *sender) Publish(tag int, sequence uint64, lane uint32, due int64) {
	load.Stamp(s.data, sequence, lane, due)
	load.Must(s.c.Publish(s.subjects[tag], s.data))
}

func subscribe(o load.Options) {
	c := connect(o)
	checker, done := load.NewChecker(o), make(chan struct{})
	handler := func(m *nats.Msg) {
		if checker.Take(m.Data) {
			close(done)
		}
	}
	if o.Tags == 1 {
		subscribeTo(c, subjects(1)[0], handler)
	} else {
		// One subscription, so that its handler is called one at a time.
		subscribeTo(c, "tag.>", handler)
	}
	load.Must(c.Flush()) // the server has it
	load.Ready()
	<-done
	c.Close()
	checker.Result().Report()
}

// subscribeTo subscribes without a limit for what waits in the client.
func subscribeTo(c *nats.Conn, subject string, handler nats.MsgHandler) {
	s, err := c.Subscribe(subject, handler)
	load.Must(err)
	load.Must(s.SetPendingLimits(math.MaxInt32, math.MaxInt))
}

func pingPong(o load.Options) {
	const there, back = "there", "back"
	c := connect(o)
	defer c.Close()
	if o.Role == load.RoleSub {
		subscribeTo(c, there, func(m *nats.Msg) { load.Must(c.Publish(back, m.Data)) })
		load.Must(c.Flush())
		load.Ready()
		select {} // until the runner ends it
	}
	load.Listening(o.Addr)
	load.AwaitGo()
	player := load.NewPings(o, func(data []byte) { load.Must(c.Publish(there, data)) })
	subscribeTo(c, back, func(m *nats.Msg) { player.Handle(m.Data) })
	load.Must(c.Flush())
	player.Play()
	player.Result().Report()
	load.AwaitQuit()
}
