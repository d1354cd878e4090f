// SPDX-License-Identifier: Apache-2.0

package recording_test

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"tagbus/bus"
	"tagbus/recording"
	"tagbus/tags"
)

// recordExample writes a small recording, as `tagbus record` does.
func recordExample() (path string, remove func()) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	path = filepath.Join(dir, "run.tbr")
	file, err := os.Create(path)
	if err != nil {
		log.Fatal(err)
	}
	w, err := recording.NewWriter(file, recording.Header{Name: "example"}, recording.Config{})
	if err != nil {
		log.Fatal(err)
	}
	readout := &bus.Peer{Instance: "1", Name: "readout"}
	for i := range 6 {
		m := bus.Message{Tag: tags.Tag(0x1000 + i%2), Counter: uint64(1 + i/2), Publisher: readout, Data: fmt.Appendf(nil, "event %d", i)}
		if err := w.Append(time.Unix(1000+int64(i), 0), &m); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	if err := file.Close(); err != nil {
		log.Fatal(err)
	}
	return path, func() { _ = os.RemoveAll(dir) }
}

// Messages of a tag, from a time on.
func ExampleReader_Messages() {
	path, remove := recordExample()
	defer remove()

	r, err := recording.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	for m, err := range r.Messages(recording.Query{Tags: tags.Of(0x1001), From: time.Unix(1003, 0)}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %v %d: %s\n", m.Time.UTC().Format(time.TimeOnly), m.Tag, m.Counter, m.Data)
	}
	// Output:
	// 00:16:43 0x0000000000001001 2: event 3
	// 00:16:45 0x0000000000001001 3: event 5
}

// A handler gets recorded messages as it gets those of a subscription.
func ExampleReader_Messages_handler() {
	path, remove := recordExample()
	defer remove()

	var handler bus.Handler = func(m bus.Message) {
		fmt.Printf("%s: %s\n", m.Publisher.Name, m.Data)
	}
	// sub, err := subscriber.Subscribe(set, handler), or:
	r, err := recording.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	for m, err := range r.Messages(recording.Query{Tags: tags.Of(0x1000)}) {
		if err != nil {
			log.Fatal(err)
		}
		handler(m.Message)
	}
	// Output:
	// readout: event 0
	// readout: event 2
	// readout: event 4
}

// A recording reports by itself what is missing.
func ExampleVerify() {
	var file bytes.Buffer
	w, err := recording.NewWriter(&file, recording.Header{}, recording.Config{})
	if err != nil {
		log.Fatal(err)
	}
	for _, counter := range []uint64{1, 2, 5} {
		m := bus.Message{Tag: 0x1000, Counter: counter, Data: []byte("data")}
		if err := w.Append(time.Now(), &m); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	r, err := recording.NewReader(bytes.NewReader(file.Bytes()), int64(file.Len()), recording.ReaderConfig{})
	if err != nil {
		log.Fatal(err)
	}
	report, err := recording.Verify(r)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(report)
	// Output:
	// not whole
	//   2 messages are missing, and no event says why
	// 1 file, 1 publisher, 3 messages, 12 bytes of data
}
