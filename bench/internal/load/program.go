// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// EndInterval is the time between two end messages.
const EndInterval = 20 * time.Millisecond

// System is how a publisher of some system sends.
type System struct {
	// Sender returns what one producer publishes with, messages of Options.Size.
	Sender func(Options) Sender
	// Flush sends what may still be waiting, at the end.
	Flush func()
	// Figures returns figures of the system's own, when it has been flushed. May be nil.
	Figures func() map[string]float64
	// Idle is called in an open loop when nothing is due. May be nil.
	Idle func()
}

// Sender publishes for one producer. It stamps the message, see Stamp, so that
// one call does for each message.
type Sender interface {
	// Publish publishes a message on a tag, 0 to Options.Tags-1, and waits for
	// room.
	Publish(tag int, sequence uint64, lane uint32, due int64)
}

// Batcher is a Sender that publishes several messages at once.
type Batcher interface {
	Sender

	// Complete publishes those that wait for more.
	Complete()
}

func complete(s Sender) {
	if b, ok := s.(Batcher); ok {
		b.Complete()
	}
}

var stdin = bufio.NewScanner(os.Stdin)

// Listening tells the runner where this process can be reached.
func Listening(addr string) { say(map[string]string{"listen": addr}) }

// Ready tells the runner that this process has subscribed. From now on the
// process ends when the runner needs it no longer.
func Ready() {
	say(map[string]bool{"ready": true})
	go func() {
		AwaitQuit()
		os.Exit(0)
	}()
}

// AwaitGo waits until the runner says that all are ready.
func AwaitGo() {
	if !stdin.Scan() {
		os.Exit(1) // the runner is gone
	}
}

// AwaitQuit waits until the runner needs this process no longer. After
// Ready it must not be called: a goroutine of Ready waits already.
func AwaitQuit() {
	for stdin.Scan() {
	}
}

func say(line any) {
	b, err := json.Marshal(line)
	Must(err)
	_, err = fmt.Fprintf(os.Stdout, "%s\n", b)
	Must(err)
}

// Report prints the result of a subscriber.
func (r SubResult) Report() {
	r.Latency = r.Latency.summary()
	say(r)
}

// Report prints the result of a publisher.
func (r PubResult) Report() {
	r.Role = RolePub
	r.Latency = r.Latency.summary()
	say(r)
}

// Publish does the work of a publisher from the first message to the last: the
// runner has said go, all subscribers are there.
func Publish(o Options, s System) {
	done := Profile(o)
	if o.Work == WorkOpenLoop {
		openLoop(o, s).finish(o, s)
	} else {
		throughput(o, s).finish(o, s)
	}
	done()
}

// throughput publishes as fast as the system takes it.
func throughput(o Options, s System) PubResult {
	var all sync.WaitGroup
	sent := make([]uint64, o.Producers)
	result := PubResult{StartNS: Now()}
	until := result.StartNS + int64(o.Seconds*1e9)
	for producer := range o.Producers {
		all.Go(func() { sent[producer] = produce(o, s.Sender(o), producer, until) })
	}
	all.Wait()
	result.EndNS = Now()
	for _, n := range sent {
		result.Sent += n
	}
	return result
}

// produce publishes until a time and returns how many messages. It looks at the
// clock once for some 64 KiB.
func produce(o Options, s Sender, producer int, until int64) uint64 {
	batch := min(256, max(1, 64<<10/o.Size))
	var round, sent uint64
	base, tag := uint32(producer*o.Tags), 0
	for {
		for range batch {
			s.Publish(tag, round, base+uint32(tag), 0)
			if tag++; tag == o.Tags {
				tag = 0
				round++
			}
		}
		sent += uint64(batch)
		if Now() >= until {
			complete(s)
			return sent
		}
	}
}

// finish reports, and publishes end messages until the runner says that all
// subscribers have reported.
func (r PubResult) finish(o Options, s System) {
	quit := make(chan struct{})
	go func() {
		AwaitQuit()
		close(quit)
	}()
	s.Flush()
	if s.Figures != nil {
		r.Extra = s.Figures()
	}
	r.Report()
	end := s.Sender(o)
	again := time.NewTicker(EndInterval)
	defer again.Stop()
	for {
		end.Publish(0, r.Sent, EndLane, 0)
		complete(end)
		s.Flush()
		select {
		case <-quit:
			return
		case <-again.C:
		}
	}
}
