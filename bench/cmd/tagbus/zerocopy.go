package main

import (
	"context"
	"encoding/binary"
	"net/netip"

	"tagbus/netio"
	"tagbus/netio/reactor"
	"tagbus/netio/tcp"

	"tagbus/bench/internal/load"
)

// zeroCopy sends from the user's memory, straight by the transport: the tag goes
// into the header of the message, and nothing is accounted for per tag.
func zeroCopy(o load.Options) {
	loop, err := reactor.New(reactor.Config{BusyPoll: o.Spin})
	load.Must(err)
	params := netio.Params{
		Receive:  netio.ReceiveParams{MaxMessageBytes: o.Size + netio.MaxHeaderBytes},
		ZeroCopy: netio.ZeroCopyParams{Outstanding: slots(o)},
	}
	if o.Role == load.RolePub {
		publishReferences(o, loop, params)
	} else {
		receiveReferences(o, loop, params)
	}
}

// slots is how many messages may be on their way: 8 MiB, at most 4,096.
func slots(o load.Options) int { return min(4096, max(16, 8<<20/o.Size)) }

// references publishes messages of its own memory, to one subscriber. The key of
// a send is the number of the memory, which the completion gives back.
type references struct {
	netio.NopHandler
	endpoint netio.Endpoint
	memory   [][]byte
	free     chan int
	arrived  chan struct{}
}

// OnConnectionEstablished implements netio.Handler.
func (r *references) OnConnectionEstablished(ep netio.Endpoint) {
	r.endpoint = ep
	close(r.arrived)
}

// OnSendCompleted implements netio.Handler.
func (r *references) OnSendCompleted(c netio.Completion) { r.free <- int(c.Key) }

// Publish implements load.Sender.
func (r *references) Publish(i int, sequence uint64, lane uint32, due int64) {
	at := <-r.free
	load.Stamp(r.memory[at], sequence, lane, due)
	var header [8]byte
	binary.LittleEndian.PutUint64(header[:], uint64(tag(i)))
	load.Must(r.endpoint.Send(netio.Key(at), header[:], r.memory[at]))
}

func publishReferences(o load.Options, loop *reactor.EventLoop, params netio.Params) {
	r := &references{free: make(chan int, slots(o)), arrived: make(chan struct{})}
	for i := range slots(o) {
		r.memory = append(r.memory, load.NewMessage(o.Size))
		r.free <- i
	}
	backend, err := tcp.Opener(loop, tcp.Config{CongestionControl: o.Congestion})(r)
	load.Must(err)
	listen, err := backend.OpenListenEndpoint(netip.MustParseAddrPort("127.0.0.1:0"), params)
	load.Must(err)
	go func() { load.Must(loop.Run(context.Background())) }()
	load.Listening(listen.Addr().String())
	load.AwaitGo()
	<-r.arrived
	load.Publish(o, load.System{Sender: func() load.Sender { return r }, Flush: func() {}})
}

// checked is the receiving side.
type checked struct {
	netio.NopHandler
	checker *load.Checker
	ready   chan struct{}
	done    chan struct{}
}

// OnConnectionEstablished implements netio.Handler.
func (c *checked) OnConnectionEstablished(netio.Endpoint) { close(c.ready) }

// OnData implements netio.Handler.
func (c *checked) OnData(_ netio.Endpoint, data []byte) {
	if c.checker.Take(data[8:]) {
		close(c.done)
	}
}

func receiveReferences(o load.Options, loop *reactor.EventLoop, params netio.Params) {
	c := &checked{checker: load.NewChecker(o), ready: make(chan struct{}), done: make(chan struct{})}
	backend, err := tcp.Opener(loop, tcp.Config{CongestionControl: o.Congestion})(c)
	load.Must(err)
	load.Must(backend.OpenEndpoint(netip.MustParseAddrPort(o.Addr), params))
	go func() { load.Must(loop.Run(context.Background())) }()
	<-c.ready
	load.Ready()
	<-c.done
	c.checker.Result().Report()
}
