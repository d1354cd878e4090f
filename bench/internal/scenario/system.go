// SPDX-License-Identifier: Apache-2.0

package scenario

import "fmt"

// System is something that is measured: a program and how it is used.
type System struct {
	Name    string
	Program string   // its name in Programs
	Args    []string // beside those of the scenario
	About   string   // for the document
}

// Systems are all systems, in the order of the document. FastCongestion in Args
// stands for the congestion control that tagbus chooses within a host, so that the
// yardsticks have it too, whatever the system's is.
var Systems = []System{
	{"tagbus", "tagbus", nil, "this bus, as it is without further settings: in shared memory, since all are on one host"},
	{"tagbus-1ms", "tagbus", []string{"--flush=1ms"}, "FlushInterval: 1 ms"},
	{"tagbus-spin", "tagbus", []string{"--spin=500us"}, "loops with BusyPoll: 500 µs"},
	{"tagbus-handle", "tagbus", []string{"--way=handle"}, "Publisher.Tag"},
	{"tagbus-batch", "tagbus", []string{"--way=batch"}, "PublishBatch, 64 messages each"},
	{"tagbus-flush", "tagbus", []string{"--way=flush"}, "Flush when nothing more is due"},
	{"tagbus-messages", "tagbus", []string{"--receive=messages"}, "received by Subscription.Messages"},
	{"tagbus-channel", "tagbus", []string{"--receive=channel"}, "received from a channel, which a handler fills with copies"},
	{"tagbus-subscribebatch", "tagbus", []string{"--receive=batch"}, "received by SubscribeBatch"},
	{"tagbus-8", "tagbus", []string{"--producers=8"}, "8 goroutines publish"},
	{"tagbus-64", "tagbus", []string{"--producers=64"}, "64 goroutines publish"},
	{"tagbus-thread", "tagbus", []string{"--thread"}, "loops with WaitThread"},
	{"tagbus-loops2", "tagbus", []string{"--loops=2"}, "Loops: 2"},
	{"tagbus-ranges", "tagbus", []string{"--set=ranges"}, "the subscription as 16 ranges"},
	{"tagbus-masks", "tagbus", []string{"--set=masks"}, "the subscription as 16 value/mask patterns"},
	{"tagbus-zerocopy", "tagbus", []string{"--way=zerocopy"}, "PublishZeroCopy"},
	{"tagbus-loan", "tagbus", []string{"--way=loan"}, "Loan, filled again for each message"},
	{"tagbus-tcp", "tagbus", []string{"--backend=tcp"}, "this bus over TCP, which it uses between hosts"},
	{"tagbus-tcp-batch", "tagbus", []string{"--backend=tcp", "--way=batch"}, "the same with PublishBatch, 64 messages each"},
	{"tagbus-tcp-zerocopy", "tagbus", []string{"--backend=tcp", "--way=zerocopy"}, "the same with PublishZeroCopy"},
	{"tagbus-tcp-flush", "tagbus", []string{"--backend=tcp", "--way=flush"}, "the same with Flush when nothing more is due"},
	{"tagbus-tcp-spin", "tagbus", []string{"--backend=tcp", "--spin=500us"}, "the same, loops with BusyPoll: 500 µs"},
	{"tagbus-tcp-loops2", "tagbus", []string{"--backend=tcp", "--loops=2"}, "the same with Loops: 2"},
	{"tagbus+systemcc", "tagbus", []string{"--backend=tcp", "--congestion=system"}, "with the congestion control of the system"},
	{"tagbus+send256k", "tagbus", []string{"--backend=tcp", "--send-buffer=262144"}, "with SO_SNDBUF fixed to 256 KiB"},
	{"tagbus+receive256k", "tagbus", []string{"--backend=tcp", "--receive-buffer=262144"}, "with SO_RCVBUF fixed to 256 KiB"},
	{"libzmq", "zmq", nil, "libzmq in C: XPUB with XPUB_NODROP to SUB; in ping-pong PAIR"},
	{"libzmq-ipc", "zmq", []string{"--way=ipc"}, "the same over ipc, which is a Unix socket"},
	{"libzmq-zerocopy", "zmq", []string{"--way=zerocopy"}, "the same with zmq_msg_init_data"},
	{"zmq4", "zmq4", nil, "libzmq used from Go by pebbe/zmq4"},
	{"nats", "nats", nil, "NATS core: nats-server in a process of its own, nats.go"},
	{"nng", "nng", nil, "nng in C: pub to sub, which may lose messages; in ping-pong pair"},
	{"iceoryx", "iceoryx", nil, "iceoryx 2.0 in C, shared memory with a daemon: chunks that are filled in place, subscribers wait in a wait set"},
	{"gonet", "gonet", nil, "net.Conn in Go: coalesced records; pingpong/64B/channel: a goroutine reads the answers"},
	{"gonet-inline", "gonet", []string{"--channel=false"}, "the same without this goroutine"},
	{"gonet-apart", "gonet", []string{Apart}, "gonet, publisher and subscriber each bound to a processor of their own"},
	{"c-record", "yard", []string{"--way=record"}, "C: coalesced records, write and read, two loopback segments each"},
	{"c-record+cc", "yard", []string{"--way=record", FastCongestion}, "the same with the congestion control of tagbus"},
	{"c-block", "yard", []string{"--way=block"}, "C: one write for each message, no header"},
	{"c-block+cc", "yard", []string{"--way=block", FastCongestion}, "the same with the congestion control of tagbus"},
	{"c-block-zerocopy", "yard", []string{"--way=block-zerocopy", FastCongestion}, "C: c-block+cc with MSG_ZEROCOPY"},
	{"c-epoll", "yard", []string{"--way=epoll"}, "C: a write for what is due at once, the receiver waits in epoll"},
	{"c-epoll+cc", "yard", []string{"--way=epoll", FastCongestion}, "the same with the congestion control of tagbus"},
	{"c-epoll-apart+cc", "yard", []string{"--way=epoll", FastCongestion, Apart}, "c-epoll+cc, publisher and subscriber each bound to a processor of their own"},
	{"c-epoll-two+cc", "yard", []string{"--way=epoll-two", FastCongestion}, "c-epoll+cc over two connections, one for each direction, as those of tagbus are"},
	{"c-busy", "yard", []string{"--way=busy"}, "C: as c-epoll, but the receiver asks the socket again and again"},
	{"c-busy+cc", "yard", []string{"--way=busy", FastCongestion}, "the same with the congestion control of tagbus"},
	{"tagbus-count", "tagbus", []string{"--record=count"}, "received by SubscribeBatch and counted, nothing else"},
	{"tagbus-record", "tagbus", []string{"--record=command"}, "tagbus record, as it is without further settings"},
	{"tagbus-replay", "tagbus", nil, "tagbus replay, as it is without further settings, with a recording of messages at a fixed rate"},
	{"recording", "tagbus", []string{"--record=recording"}, "the subscriber of tagbus-count, recorded by package recording"},
	{"tagbus-data", "tagbus", []string{"--record=data"}, "the same, but only the payloads are written"},
	{"mcap", "tagbus", []string{"--record=mcap"}, "the same, recorded by foxglove/mcap: chunks of 1 MiB with checksums and index, a channel for each tag"},
	{"pcapng", "tagbus", []string{"--record=pcapng"}, "the same, recorded by gopacket as packets that begin with the tag"},
	{"dd", "dd", nil, "the payloads written to the memory disk by one process, 1 MiB at a time, without a bus"},
	{"etcd-one", "directory", []string{"--members=1"}, "directory/etcd with one member, in a process of its own"},
	{"etcd-three", "directory", []string{"--members=3"}, "directory/etcd with three members, each in a process of its own"},
	{"folder", "directory", nil, "directory/file: a folder on the disk, without a server"},
	{"tagbus-tls", "tagbus", []string{"--secure"}, "this bus over the backend tls, with certificates and a policy"},
	{"tagbus-tls-loops2", "tagbus", []string{"--secure", "--loops=2"}, "the same with Loops: 2"},
	{"nats-tls", "nats", []string{"--secure"}, "nats over TLS 1.3 with certificates on all sides"},
	{"zmq4-curve", "zmq4", []string{"--secure"}, "zmq4 with CURVE, keys checked on both sides"},
	{"gonet-tls", "gonet", []string{"--secure"}, "gonet over crypto/tls: TLS 1.3 with certificates on both sides"},
	{"aes-gcm", "cipher", nil, "the messages sealed and opened with AES-128-GCM, 16 KiB at a time as in TLS, by one process, without a bus"},
	{"acl", "policy", nil, "the first decision for a peer behind a reload of the policy"},
	{"acl-next", "policy", []string{"--way=next"}, "each other decision for it"},
	{"c-busy-two+cc", "yard", []string{"--way=busy-two", FastCongestion}, "c-busy+cc over two connections"},
}

// FastCongestion is an argument that the runner fills in.
const FastCongestion = "--congestion=FAST"

// Apart is an argument that the runner keeps to itself: it binds the publisher and
// the subscribers to a processor each. The kernel likes to run two processes with one
// thread each in turn on one processor, where a wake-up takes a tenth of the time, and
// may do so in one measurement and not in the next. That is no yardstick.
const Apart = "--apart"

// Find returns the system of a name.
func Find(name string) (System, error) {
	for _, s := range Systems {
		if s.Name == name {
			return s, nil
		}
	}
	return System{}, fmt.Errorf("scenario: no system %q", name)
}

// Program is how a benchmark program is built.
type Program struct {
	Name   string
	Source string   // a Go package, or a file in C
	Libs   []string // flags of the linker, for C; for Go the packages of pkg-config that cgo needs
	Server bool     // it has a third process, between the others
	Folder string   // of a Go package that belongs to another module
}

// Programs are all programs that the runner builds.
var Programs = []Program{
	{Name: "tagbus", Source: "./cmd/tagbus"},
	{Name: "tagbus-command", Source: "./cmd/tagbus", Folder: ".."},
	{Name: "directory", Source: "./cmd/directory"},
	{Name: "dd", Source: "./cmd/dd"},
	{Name: "cipher", Source: "./cmd/cipher"},
	{Name: "policy", Source: "./cmd/policy"},
	{Name: "gonet", Source: "./cmd/gonet"},
	{Name: "nats", Source: "./cmd/nats", Server: true},
	{Name: "zmq4", Source: "./cmd/zmq4", Libs: []string{"libzmq"}},
	{Name: "zmq", Source: "c/zmq.c", Libs: []string{"-lzmq"}},
	{Name: "nng", Source: "c/nng.c", Libs: []string{"-lnng"}},
	{Name: "iceoryx", Source: "c/iceoryx.c", Libs: []string{"-I/usr/include/iceoryx/v2.0.3", "-liceoryx_binding_c"}, Server: true},
	{Name: "yard", Source: "c/yard.c"},
}
