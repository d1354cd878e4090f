// SPDX-License-Identifier: Apache-2.0

package node_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tagbus/bus"
	"tagbus/bus/state"
	"tagbus/internal/testkit"
	"tagbus/netio/shm"
	"tagbus/node"
	"tagbus/tags"
)

// Readers of one publisher, each in a process of its own, by shared memory and by TCP. Some are
// killed or stopped at random while the publisher floods them. What the others have got, and what they
// were told is lost, is all that was published, and what the publisher counts.

// The environment of a reader.
const (
	readerBus    = "NODE_TEST_READER_BUS"
	readerWay    = "NODE_TEST_READER_WAY"
	readerPolicy = "NODE_TEST_READER_POLICY"
	readerFolder = "NODE_TEST_READER_FOLDER"
)

// killTags are those of the messages.
var killTags = tags.Of(1, 2, 3)

// report is what a reader says in the end.
type report struct {
	Instance string
	Received uint64
	Wrong    uint64 // messages that are not what was published, or not in order
	Lost     uint64 // as the bus says
	Way      string // by which it was connected
}

// readerConfig returns the configuration of the nodes of these tests.
func readerConfig(dir, way, folder string) node.Config {
	return node.Config{Bus: dir, Backend: way, SHM: shm.Config{Folder: folder}}
}

// runReader is a process that reads until the publisher says goodbye.
func runReader() {
	must := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "reader:", err)
			os.Exit(2)
		}
	}
	n, err := node.Open(readerConfig(os.Getenv(readerBus), os.Getenv(readerWay), os.Getenv(readerFolder)))
	must(err)
	var r report
	goodbye := make(chan struct{})
	s, err := n.NewSubscriber(bus.SubscriberConfig{Common: bus.Common{OnEvent: func(e bus.Event) {
		if e.Kind == bus.Connected {
			r.Way = e.Peer.Backend
		}
		if e.Kind == bus.Goodbye {
			close(goodbye)
		}
	}}})
	must(err)
	kind, err := strconv.Atoi(os.Getenv(readerPolicy))
	must(err)
	next := make(map[tags.Tag]uint64)
	sub, err := s.SubscribeWith(killTags, func(m bus.Message) {
		at := binary.LittleEndian.Uint64(m.Data)
		if at < next[m.Tag] || len(m.Data) != sizeOf(at) || !isFilled(m.Data, at) {
			r.Wrong++
		}
		next[m.Tag] = at + 1
		r.Received++
	}, bus.SubscriptionConfig{Policy: bus.Policy{Kind: bus.PolicyKind(kind)}})
	must(err)
	must(sub.Wait(context.Background()))
	fmt.Println("ready")
	<-goodbye
	must(n.Close())
	r.Instance, r.Lost = s.Instance(), s.Stats().Lost
	must(json.NewEncoder(os.Stdout).Encode(r))
}

// sizeOf returns the size of a message: mostly small, now and then as large as is lent, or larger than a page.
func sizeOf(at uint64) int {
	switch {
	case at%5000 == 4999:
		return 200_000
	case at%200 == 199:
		return 20_000
	}
	return 40
}

// isFilled reports whether a payload is that of a position.
func isFilled(data []byte, at uint64) bool {
	for i := 8; i < len(data); i += 997 {
		if data[i] != byte(at) {
			return false
		}
	}
	return true
}

// reader is such a process.
type reader struct {
	*exec.Cmd
	out *bufio.Reader
}

// startReader starts one, and returns when it is subscribed, or cannot be.
func startReader(t *testing.T, dir, way, folder string, policy bus.PolicyKind) *reader {
	t.Helper()
	r := &reader{Cmd: exec.Command(os.Args[0])}
	r.Env = append(os.Environ(), readerBus+"="+dir, readerWay+"="+way, readerPolicy+"="+strconv.Itoa(int(policy)), readerFolder+"="+folder)
	r.Stderr = os.Stderr
	out, err := r.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.out = bufio.NewReader(out)
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.Process.Kill()
		_ = r.Wait()
	})
	if line, err := r.out.ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("a reader by %s: got %q, %v", way, line, err)
	}
	return r
}

// report returns what it says when the publisher has ended.
func (r *reader) report(t *testing.T) (got report) {
	t.Helper()
	if err := json.NewDecoder(r.out).Decode(&got); err != nil {
		t.Fatalf("the report of a reader: %v", err)
	}
	return got
}

// floods publishes messages of a tag until it is to end, and returns how many there were.
func floods(t *testing.T, p *bus.Publisher, tag tags.Tag, end *atomic.Bool) (n uint64) {
	var batch []bus.Message
	for !end.Load() {
		batch = batch[:0]
		for range 100 {
			data := make([]byte, sizeOf(n))
			binary.LittleEndian.PutUint64(data, n)
			for i := 8; i < len(data); i += 997 {
				data[i] = byte(n)
			}
			batch = append(batch, bus.Message{Tag: tag, Data: data})
			n++
		}
		if _, err := p.PublishBatchContext(t.Context(), batch); err != nil {
			t.Errorf("publish: %v", err)
			return n
		}
	}
	return n
}

// disturb starts readers, and kills or stops them, until it is to end. It returns how many there were.
func disturb(t *testing.T, dir, folder string, end *atomic.Bool) (readers int) {
	t.Helper()
	for ; !end.Load(); readers++ {
		way := []string{"shm,tcp", "tcp"}[rand.IntN(4)/3]
		victim := startReader(t, dir, way, folder, bus.DropOldest)
		<-time.After(time.Duration(rand.IntN(50)) * time.Millisecond)
		if rand.IntN(2) == 0 {
			_ = victim.Process.Signal(syscall.SIGSTOP)
			<-time.After(time.Duration(rand.IntN(300)) * time.Millisecond)
		}
		_ = victim.Process.Kill()
		_ = victim.Wait()
	}
	return readers
}

// killTime is how long readers are killed and stopped: NODE_KILL_TIME, or some seconds.
func killTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("NODE_KILL_TIME")
	if text == "" {
		return time.Duration(testkit.Fewer(4)) * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestReadersAreKilledAndStopped(t *testing.T) {
	if testing.Short() {
		t.Skip("left out with -short: it does not use the RDMA device that there is")
	}
	dir, folder := t.TempDir(), shortFolder(t)
	p, err := openNodeWith(t, readerConfig(dir, "shm,tcp", folder)).NewPublisher(bus.PublisherConfig{Tags: killTags})
	if err != nil {
		t.Fatal(err)
	}
	survivors := []struct {
		*reader
		way    string
		policy bus.PolicyKind
	}{
		{way: "shm,tcp", policy: bus.Block},
		{way: "tcp", policy: bus.Block},
		{way: "shm,tcp", policy: bus.DropOldest},
		{way: "tcp", policy: bus.DropNewest},
	}
	for i := range survivors {
		survivors[i].reader = startReader(t, dir, survivors[i].way, folder, survivors[i].policy)
	}
	var end atomic.Bool
	totals := make(chan uint64)
	for tag := range tags.Tag(4) {
		if tag == 0 {
			continue
		}
		go func() { totals <- floods(t, p, tag, &end) }()
	}
	killed := make(chan int)
	for range 2 {
		go func() { killed <- disturb(t, dir, folder, &end) }()
	}
	<-time.After(killTime(t))
	end.Store(true)
	var total, delivered uint64
	for range 3 {
		total += <-totals
	}
	deaths := <-killed + <-killed
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Drain(ctx); err != nil && !errors.Is(err, bus.ErrUndelivered) { // of those that were killed last
		t.Errorf("Drain: %v", err)
	}
	st, err := p.State(t.Context(), state.Question{Peers: state.MaxPeers})
	if err != nil {
		t.Fatal(err)
	}
	lost := make(map[string]uint64)
	for _, gone := range st.Gone {
		lost[gone.Instance] = state.Lost(gone.Losses)
	}
	for _, x := range survivors {
		got := x.report(t)
		delivered += got.Received
		if want, _, _ := strings.Cut(x.way, ","); got.Way != want {
			t.Errorf("%s: connected by %s", x.way, got.Way)
		}
		if got.Received+got.Lost != total || got.Wrong != 0 || got.Lost != lost[got.Instance] || x.policy == bus.Block && got.Lost != 0 {
			t.Errorf("%s, %v: of %d messages got %d and was told of %d lost, the publisher counts %d; %d wrong", x.way, x.policy, total, got.Received, got.Lost, lost[got.Instance], got.Wrong)
		}
	}
	t.Logf("%d messages, %d deliveries to those that lived, %d readers killed", total, delivered, deaths)
	if free, all := st.Sending.PoolFreePages, st.Sending.PoolPages; free != all {
		t.Errorf("in the end %d of %d pages are free", free, all)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) > 1 { // the file of the lock
		t.Errorf("left in the folder of the sockets: %v, %v", entries, err)
	}
}

// shortFolder returns a folder whose path leaves room for the names of sockets.
func shortFolder(tb testing.TB) string {
	tb.Helper()
	dir, err := os.MkdirTemp("", "tb") //nolint:usetesting // that of TempDir may be too long
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "shm")
}
