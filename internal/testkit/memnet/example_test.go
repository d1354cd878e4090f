// SPDX-License-Identifier: Apache-2.0

package memnet_test

import (
	"fmt"
	"net/netip"

	"tagbus/internal/testkit/memnet"
	"tagbus/netio"
)

// reporter is a Handler that reports what becomes of its connection.
type reporter struct {
	netio.NopHandler
	events chan string
}

func (r *reporter) OnConnectionEstablished(ep netio.Endpoint) {
	r.events <- fmt.Sprint("connected to ", ep.Remote())
}

func (r *reporter) OnConnectionClosed(_ netio.Endpoint, _ []netio.Key, cause error) {
	r.events <- fmt.Sprint("closed: ", cause)
}

// A process is killed while another is connected to it.
func Example() {
	network, loop := memnet.New(), memnet.NewLoop()
	defer loop.Close()
	hostA, hostB := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	addr := netip.AddrPortFrom(hostA, 1000)

	a, err := network.Opener(loop, memnet.Config{Host: hostA})(netio.NopHandler{})
	if err != nil {
		panic(err)
	}
	if _, err := a.OpenListenEndpoint(addr, netio.Params{}); err != nil {
		panic(err)
	}
	r := &reporter{events: make(chan string, 1)}
	b, err := network.Opener(loop, memnet.Config{Host: hostB})(r)
	if err != nil {
		panic(err)
	}
	if err := b.OpenEndpoint(addr, netio.Params{}); err != nil {
		panic(err)
	}
	fmt.Println(<-r.events)
	network.Kill(hostA)
	fmt.Println(<-r.events)
	// Output:
	// connected to 10.0.0.1:1000
	// closed: netio: receive 10.0.0.1:1000: connection reset by peer
}
