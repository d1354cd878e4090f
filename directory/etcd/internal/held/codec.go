// SPDX-License-Identifier: Apache-2.0

package held

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // the codec
	"google.golang.org/grpc/mem"
)

// message is one that is an answer.
type message struct {
	any
	answer *Answer
}

// Of returns a message for gRPC, which releases the answer once it is written.
func (h *Answer) Of(m any) any { return &message{m, h} }

// MessageOf returns the message that Of was given.
func MessageOf(of any) any {
	if m, ok := of.(*message); ok {
		return m.any
	}
	return of
}

// wireCodec is that of etcd, and tells when an answer is written: neither the end of a request nor the
// statistics of gRPC do, which hold the bytes in a queue then.
type wireCodec struct {
	encoding.CodecV2
	sent, received prometheus.Counter
}

// Codec returns the codec of a server, which counts in the metrics of etcd as that of etcd does.
func Codec() encoding.CodecV2 {
	return wireCodec{
		encoding.GetCodecV2("proto"),
		counter("client_grpc_sent_bytes_total", "The total number of bytes sent to grpc clients."),
		counter("client_grpc_received_bytes_total", "The total number of bytes received from grpc clients."),
	}
}

// counter returns a counter that etcd has registered, or one that nothing shows.
func counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "etcd", Subsystem: "network", Name: name, Help: help})
	var there prometheus.AlreadyRegisteredError
	if err := prometheus.Register(c); errors.As(err, &there) {
		if known, ok := there.ExistingCollector.(prometheus.Counter); ok {
			return known
		}
	}
	return c
}

// Marshal implements encoding.CodecV2.
func (c wireCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*message)
	bytes, err := c.CodecV2.Marshal(MessageOf(v))
	if err != nil {
		return nil, err
	}
	c.sent.Add(float64(bytes.Len()))
	if !ok {
		return bytes, nil
	}
	data := bytes.Materialize()
	bytes.Free()
	if mem.IsBelowBufferPoolingThreshold(cap(data)) { // no pool is told of it
		data = append(make([]byte, 0, shortest), data...)
	}
	return mem.BufferSlice{mem.NewBuffer(&data, writtenPool{m.answer})}, nil
}

// Unmarshal implements encoding.CodecV2.
func (c wireCodec) Unmarshal(data mem.BufferSlice, v any) error {
	c.received.Add(float64(data.Len()))
	return c.CodecV2.Unmarshal(data, v)
}

// shortest is the capacity of a buffer at least that has a pool in gRPC, bytes.
const shortest = 1<<10 + 1

// writtenPool is told when the last byte of an answer is on its way.
type writtenPool struct{ answer *Answer }

// Get implements mem.BufferPool. Nothing calls it.
func (writtenPool) Get(length int) *[]byte {
	bytes := make([]byte, length)
	return &bytes
}

// Put implements mem.BufferPool.
func (p writtenPool) Put(*[]byte) { p.answer.Release() }
