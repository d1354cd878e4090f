// SPDX-License-Identifier: Apache-2.0

//go:build libfabric && cgo

package rdma_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"tagbus/netio"
	"tagbus/netio/rdma"
)

// TestEndpoint_allMessagesForASlowReceiverArrive: several senders send more than there are
// buffers, which all share, while nothing is read. A device then asks the sending ones
// to try again, for as long as it takes.
func TestEndpoint_allMessagesForASlowReceiverArrive(t *testing.T) {
	const senders, each, buffers = 3, 16, 2
	shared := netio.Config{SharedReceive: netio.SharedBuffers{Buffers: buffers, BufferBytes: 4096}}
	s := serve(t, newWatcher(), rdma.Config{Config: shared}, netio.Params{})
	w := newWatcher() // of all senders
	region := newRegion(t, senders*each*1000)
	var eps []netio.Endpoint
	for range senders {
		ep, _ := s.dial(t, w, rdma.Config{}, netio.Params{ZeroCopy: netio.ZeroCopyParams{Region: region}})
		eps = append(eps, ep)
	}
	blocked, goOn := make(chan struct{}), make(chan struct{})
	read := sync.OnceFunc(func() { close(goOn) })
	defer read()
	if !s.b.Loop().Post(func() { close(blocked); <-goOn }) {
		t.Fatal("Post: got false, want true")
	}
	next(t, "the loop that waits", blocked)
	want := map[string]int{}
	for i := range each {
		for k, ep := range eps {
			at := (i*senders + k) * 1000
			data := region[at : at+1000]
			want[string(data[:copy(data, fmt.Sprintf("message %d of sender %d", i, k))])]++
			if err := ep.Send(netio.Key(i), nil, data); err != nil {
				t.Fatalf("Send: got error %v, want none", err)
			}
		}
	}
	if provider() == rdma.ProviderVerbs { // sockets take more
		<-time.After(300 * time.Millisecond) // in which the device tries again and again
		if got := len(w.Completed); got > buffers {
			t.Errorf("OnSendCompleted while the peer does not read: got %d, want no more than the %d buffers", got, buffers)
		}
	}
	read()
	for range senders * each {
		data := next(t, "a message", s.Data)
		var number, sender int
		if _, err := fmt.Sscanf(string(data), "message %d of sender %d", &number, &sender); err != nil || len(data) != 1000 {
			t.Fatalf("message: got %.40q of %d bytes, want one of 1000 that was sent", data, len(data))
		}
		want[fmt.Sprintf("message %d of sender %d", number, sender)]--
	}
	for text, missing := range want {
		if missing != 0 {
			t.Errorf("%s: got it %d times, want once", text, 1-missing)
		}
	}
	if len(w.Closed)+len(s.Closed) > 0 {
		t.Errorf("OnConnectionClosed: got %d, want none", len(w.Closed)+len(s.Closed))
	}
}
