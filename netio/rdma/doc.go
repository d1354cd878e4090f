// SPDX-License-Identifier: Apache-2.0

// Package rdma is the netio backend over RDMA fabrics, through libfabric.
//
// It is built in with the build tag libfabric, which needs cgo and the
// development files of libfabric. Without them its Opener returns an error that
// says so, and the rest of the program builds and runs without cgo.
//
// # Connections
//
// A connection is a libfabric endpoint of type FI_EP_MSG (on verbs: a reliable
// queue pair), with a completion queue of its own: so the source of a message is
// known also when receive buffers are shared. What both sides must know of each
// other crosses with the request and its acceptance, see greeting.go.
//
// # Without connections
//
// Providers that have only endpoints of type FI_EP_RDM (efa) are used through hubs:
// one for all endpoints that a backend opens, one for each listen endpoint. A hub
// has an address vector, receive buffers that its endpoints share, and one
// completion queue. What connections give elsewhere, an endpoint's bond does: hello,
// accept and ready; a frame in front of each message with the number of its
// connection and its own; goodbye and gone. The queue of sends, credits, held
// messages and gathering are the same. frame.go has the format, bond.go and
// bond_end.go the order of events.
//
// # Messages
//
// One message of netio is one message of the fabric, without framing. It is
// received into a buffer that was posted before, so its size is limited by that
// of the buffers, which the sender knows: a message that is too large is refused
// here (netio.ErrTooLarge) and never sent. A header travels in front of the data
// as a piece of memory of its own. Data in more pieces than devices take is
// gathered in memory of the backend. A message that the user retains keeps its
// buffer from being posted, as one that is not consumed.
//
// # Flow control
//
// Each side announces how many messages the other may have under way that were not
// consumed yet, the window. A side that has consumed a quarter of it sends an empty
// message, which gives the sender as many credits. For an endpoint with receive
// buffers of its own the window is their number, and four more are posted for
// the empty messages: no message ever finds no buffer, which some fabrics answer
// by ending the connection (iWARP), and others by sending again. A pause is a
// window that is not given back.
//
// Endpoints that share receive buffers may find none. Then their messages wait
// in the network. Messages that come for a paused endpoint are copied, up to a
// window, so that it keeps no shared buffer from the others.
//
// # Turns
//
// All of libfabric is called on the loop, but to listen. At the end of a turn of
// the loop (PrepareWait) the backend does what was left to it, and crosses to C
// once for all: to post what is to be sent and received, to read the completion
// queues that are not empty, and to make sure that their descriptors announce
// what comes next. Then it makes the callbacks, and begins again
// until nothing is left, or others must have their turn. See turn.go.
//
// # Reading the code
//
// Package handover has what is the same in netio/tcp: how calls from any
// goroutine become work of the loop. Then backend.go and turn.go; device.go,
// listen_endpoint.go, dial.go and connection.go (how connections come to be);
// device_stale.go and renewal.go (a device that is not what it was);
// endpoint.go, queue.go, flush.go and gather.go (sending); receive.go,
// receive_pool.go and retain.go (receiving); watch.go; endpoint_step.go. frame.go,
// bond.go, bond_end.go, the files of hubs (hub.go first), letters.go and peer_addr.go
// are for providers without connections. survey.go is Fabrics, apart from all that.
//
// Source: netio3 libfabric backend.
package rdma
