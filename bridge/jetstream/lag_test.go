// SPDX-License-Identifier: Apache-2.0

package jetstream_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"tagbus/bridge/durable"
	"tagbus/bridge/internal/natsserver"
	"tagbus/bridge/jetstream"
)

// pending is what a consumer says of what is left.
var pending = regexp.MustCompile(`"num_pending":[0-9]+`)

// lagging stands in front of a server, and is where a replica seems to be that has no more than it has sent. It passes on that many
// records, or all if the number is 0, and calls stopped behind them.
func lagging(t *testing.T, server string, most int, stopped func()) (url string) {
	t.Helper()
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = front.Close() })
	go func() {
		for {
			client, err := front.Accept()
			if err != nil {
				return
			}
			back, err := net.Dial("tcp", strings.TrimPrefix(server, "nats://"))
			if err != nil {
				_ = client.Close()
				return
			}
			go func() { defer back.Close(); _, _ = io.Copy(back, client) }()
			go func() { defer client.Close(); lag(bufio.NewReader(back), client, most, stopped) }()
		}
	}()
	return "nats://" + front.Addr().String()
}

// lag passes on what a server sends.
func lag(from *bufio.Reader, to io.Writer, most int, stopped func()) {
	for sent := 0; ; {
		line, err := from.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(line)
		var payload []byte
		if words[0] == "MSG" || words[0] == "HMSG" {
			size, _ := strconv.Atoi(words[len(words)-1])
			payload = make([]byte, size+len("\r\n"))
			if _, err := io.ReadFull(from, payload); err != nil {
				return
			}
			payload = pending.ReplaceAllFunc(payload, func(b []byte) []byte { // as long as before
				return append([]byte(`"num_pending":0`), bytes.Repeat([]byte(" "), len(b)-len(`"num_pending":0`))...)
			})
		}
		if len(words) > 3 && strings.HasPrefix(words[3], "$JS.ACK.") {
			if sent++; most > 0 && sent > most {
				if sent == most+1 {
					stopped()
				}
				continue
			}
			words[3] = words[3][:strings.LastIndexByte(words[3], '.')] + ".0"
			line = strings.Join(words, " ") + "\r\n"
		}
		if _, err := io.WriteString(to, line+string(payload)); err != nil {
			return
		}
	}
}

// TestLog_Read_fromAReplicaThatLags goes on to what the leader of the stream names as the last record.
func TestLog_Read_fromAReplicaThatLags(t *testing.T) {
	t.Parallel()
	s := natsserver.Start(t)
	makeStream(t, s.URL, nil)
	const records = 20
	fill(t, s.URL, records)
	log := open(t, jetstream.Config{URL: lagging(t, s.URL, 0, nil), Stream: "TAGBUS"})
	defer func() { _ = log.Close() }()
	got := 0
	for _, err := range log.Read(t.Context(), durable.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		got++
	}
	if got != records {
		t.Errorf("got %d records, want %d", got, records)
	}
}

// TestLog_Read_ofRecordsThatAreDroppedMeanwhile ends behind those that are left, and with an error if some do not come.
func TestLog_Read_ofRecordsThatAreDroppedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, purge := range map[string]bool{"dropped": true, "missing": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := natsserver.Start(t)
			makeStream(t, s.URL, nil)
			fill(t, s.URL, 20)
			url := lagging(t, s.URL, 5, func() {
				if purge {
					purgeStream(t, s.URL)
				}
			})
			log := open(t, jetstream.Config{URL: url, Stream: "TAGBUS", AckTimeout: time.Second})
			defer func() { _ = log.Close() }()
			got := 0
			var failed error
			for _, err := range log.Read(t.Context(), durable.Query{}) {
				if failed = err; err == nil {
					got++
				}
			}
			if got != 5 || (failed == nil) != purge || errors.Is(failed, durable.ErrRefused) {
				t.Errorf("got %d records, %v, want 5, and an error that may go: %t", got, failed, !purge)
			}
		})
	}
}

// purgeStream drops all records, as a retention does.
func purgeStream(t *testing.T, url string) {
	conn, err := nats.Connect(url)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	if _, err := conn.Request("$JS.API.STREAM.PURGE.TAGBUS", nil, patience); err != nil {
		t.Error(err)
	}
}

// fill appends records to a stream.
func fill(t *testing.T, url string, n int) {
	t.Helper()
	log := open(t, jetstream.Config{URL: url, Stream: "TAGBUS"})
	if err := errors.Join(appendMany(log, n, []byte("x")), log.Close()); err != nil {
		t.Fatal(err)
	}
}
