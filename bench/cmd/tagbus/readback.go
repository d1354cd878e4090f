// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"os"

	"github.com/foxglove/mcap/go/mcap"
	"github.com/gopacket/gopacket/pcapgo"

	"tagbus/bench/internal/load"
	"tagbus/recording"
)

// readBack checks the messages of a file, and returns what a subscriber would report that
// has received them.
func readBack(o load.Options, file *os.File, size int64) load.SubResult {
	checker := load.NewChecker(o)
	take := func(b []byte) { checker.Take(b) }
	_, err := file.Seek(0, io.SeekStart)
	load.Must(err)
	switch o.Record {
	case "recording", "command":
		err = readRecording(file, size, take)
	case "mcap":
		err = readMCAP(file, take)
	case "pcapng":
		err = readPcapng(file, take)
	case "data":
		err = readData(file, o.Size, take)
	}
	load.Must(err)
	return checker.Result()
}

func readRecording(file *os.File, size int64, take func([]byte)) error {
	r, err := recording.NewReader(file, size, recording.ReaderConfig{})
	if err != nil {
		return err
	}
	for m, err := range r.Messages(recording.Query{}) {
		if err != nil {
			return err
		}
		take(m.Data)
	}
	return nil
}

func readMCAP(file *os.File, take func([]byte)) error {
	r, err := mcap.NewReader(file)
	if err != nil {
		return err
	}
	defer r.Close()
	messages, err := r.Messages(mcap.UsingIndex(false), mcap.InOrder(mcap.FileOrder))
	if err != nil {
		return err
	}
	var m mcap.Message
	for {
		if _, _, _, err := messages.NextInto(&m); err != nil {
			return unlessEOF(err)
		}
		take(m.Data)
	}
}

func readPcapng(file *os.File, take func([]byte)) error {
	r, err := pcapgo.NewNgReader(file, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		return err
	}
	for {
		packet, _, err := r.ReadPacketData()
		if err != nil {
			return unlessEOF(err)
		}
		take(packet[8:]) // behind the tag
	}
}

func readData(file *os.File, size int, take func([]byte)) error {
	b := make([]byte, size)
	for {
		if _, err := io.ReadFull(file, b); err != nil {
			return unlessEOF(err)
		}
		take(b)
	}
}

func unlessEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
