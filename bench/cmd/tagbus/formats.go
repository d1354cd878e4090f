// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"tagbus/bench/internal/load"
	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

// format writes messages into a file. Each one collects about a megabyte, which a
// goroutine of its own writes meanwhile.
//
// Threads: one at a time.
type format interface {
	take(at time.Time, page []bus.Message)

	// close returns when the file is complete.
	close()
}

// newFormat returns the format of the options, which writes into a file.
func newFormat(o load.Options, file *os.File) format {
	switch o.Record {
	case "count":
		return nothing{}
	case "recording":
		return newRecording(file)
	case "mcap":
		return newMCAP(o, file)
	case "pcapng":
		return newPcapng(file)
	case "data":
		return &data{newBlocks(file)}
	}
	load.Fail(fmt.Errorf("record %s: want count, command, recording, mcap, pcapng or data", o.Record))
	return nil
}

// nothing has no file.
type nothing struct{}

func (nothing) take(time.Time, []bus.Message) {}
func (nothing) close()                        {}

// data writes the payloads, one behind the other.
type data struct{ to *blocks }

func (d *data) take(_ time.Time, page []bus.Message) {
	for i := range page {
		_, _ = d.to.Write(page[i].Data) // blocks end the program instead
	}
}

func (d *data) close() { d.to.close() }

// tbr is a recording of this project.
type tbr struct {
	builder     *recording.Builder
	full, empty chan *recording.Block
	written     chan struct{}
}

func newRecording(file io.Writer) *tbr {
	builder, err := recording.NewBuilder(recording.Config{})
	load.Must(err)
	w, err := recording.NewBlockWriter(file, recording.Header{Name: "bench"}, recording.Config{})
	load.Must(err)
	t := &tbr{builder, make(chan *recording.Block, waitingBlocks), make(chan *recording.Block, waitingBlocks), make(chan struct{})}
	for range waitingBlocks {
		t.empty <- new(recording.Block)
	}
	go func() {
		defer close(t.written)
		for b := range t.full {
			load.Must(w.WriteBlock(b))
			t.empty <- b
		}
		load.Must(w.Close())
	}()
	return t
}

func (t *tbr) take(at time.Time, page []bus.Message) {
	load.Must(t.builder.AppendPage(at, page))
	if t.builder.Full() {
		t.full <- t.builder.Seal(<-t.empty)
	}
}

func (t *tbr) close() {
	t.full <- t.builder.Seal(<-t.empty)
	close(t.full)
	<-t.written
}

// mcaps is an MCAP file in chunks with an index, a channel for each tag.
type mcaps struct {
	to       *blocks
	w        *mcap.Writer
	channels map[tags.Tag]uint16
	message  mcap.Message
}

func newMCAP(o load.Options, file io.Writer) *mcaps {
	m := &mcaps{to: newBlocks(file), channels: make(map[tags.Tag]uint16)}
	var err error
	m.w, err = mcap.NewWriter(m.to, &mcap.WriterOptions{Chunked: true, ChunkSize: blockBytes, IncludeCRC: true})
	load.Must(err)
	load.Must(m.w.WriteHeader(&mcap.Header{}))
	for i := range o.Wanted {
		m.channels[tag(i)] = uint16(i)
		load.Must(m.w.WriteChannel(&mcap.Channel{ID: uint16(i), Topic: tag(i).String(), MessageEncoding: "tagbus"}))
	}
	return m
}

func (m *mcaps) take(at time.Time, page []bus.Message) {
	ns := uint64(at.UnixNano())
	for i := range page {
		p := &page[i]
		m.message = mcap.Message{ChannelID: m.channels[p.Tag], Sequence: uint32(p.Counter), LogTime: ns, PublishTime: ns, Data: p.Data}
		load.Must(m.w.WriteMessage(&m.message))
	}
}

func (m *mcaps) close() {
	load.Must(m.w.Close())
	m.to.close()
}

// userLink is the link type of pcapng files for what is of no network: LINKTYPE_USER0.
const userLink = layers.LinkType(147)

// pcapng is a file of packets: the tag, then the data.
type pcapng struct {
	to     *blocks
	w      *pcapgo.NgWriter
	packet []byte
}

func newPcapng(file io.Writer) *pcapng {
	p := &pcapng{to: newBlocks(file)}
	about := pcapgo.DefaultNgInterface
	about.LinkType = userLink
	var err error
	p.w, err = pcapgo.NewNgWriterInterface(p.to, about, pcapgo.DefaultNgWriterOptions)
	load.Must(err)
	return p
}

func (p *pcapng) take(at time.Time, page []bus.Message) {
	for i := range page {
		p.packet = append(binary.BigEndian.AppendUint64(p.packet[:0], uint64(page[i].Tag)), page[i].Data...)
		n := len(p.packet)
		load.Must(p.w.WritePacket(gopacket.CaptureInfo{Timestamp: at, CaptureLength: n, Length: n}, p.packet))
	}
}

func (p *pcapng) close() {
	load.Must(p.w.Flush())
	p.to.close()
}
