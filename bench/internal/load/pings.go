// SPDX-License-Identifier: Apache-2.0

package load

import "bytes"

// Pings records the round trips of a ping-pong, whatever carries them: one is on
// its way at any time.
//
// Threads: one at a time, but Play beside Handle.
type Pings struct {
	seconds  float64
	send     func(data []byte)
	data     []byte
	sequence uint64
	sentNS   int64
	warm     int64 // from when on round trips count: after a tenth of the time
	until    int64
	result   PubResult
	answers  chan []byte   // from Handle to Play, with Options.Channel
	done     chan struct{} // closed by Handle otherwise
}

// NewPings returns a player that sends by send.
func NewPings(o Options, send func(data []byte)) *Pings {
	p := &Pings{
		seconds: o.Seconds, send: send, data: NewMessage(o.Size), result: PubResult{Latency: NewHistogram()},
		done: make(chan struct{}),
	}
	if o.Channel {
		p.answers = make(chan []byte, 1)
	}
	return p
}

// Play starts, and returns when the time is over. The system calls Handle meanwhile.
func (p *Pings) Play() {
	p.Start()
	if p.answers == nil {
		<-p.done
		return
	}
	for !p.Return(<-p.answers) {
	}
}

// Handle takes an answer in a handler of the system.
func (p *Pings) Handle(data []byte) {
	switch {
	case p.answers != nil:
		p.answers <- bytes.Clone(data)
	case p.Return(data):
		close(p.done)
	}
}

// Start sends the first message, for a program that reads the answers itself.
func (p *Pings) Start() {
	p.result.StartNS = Now()
	p.until = p.result.StartNS + int64(p.seconds*1e9)
	p.warm = p.result.StartNS + int64(p.seconds*1e8)
	p.next()
}

func (p *Pings) next() {
	p.sentNS = Now()
	Stamp(p.data, p.sequence, 0, p.sentNS)
	p.send(p.data)
}

// Return takes an answer and sends the next message. It reports whether the time
// is over: not before one round trip counts, for a machine that does other things.
func (p *Pings) Return(data []byte) bool {
	now := Now()
	if sequence, ok := Sequence(data); !ok || sequence != p.sequence {
		p.result.Corrupt++
	}
	if p.sequence > 0 && p.sentNS >= p.warm {
		p.result.Latency.Record(now - p.sentNS)
	}
	p.sequence++
	if now >= p.until && p.result.Latency.counts.TotalCount() > 0 {
		p.result.Sent, p.result.EndNS = p.sequence, now
		return true
	}
	p.next()
	return false
}

// Result returns the round trips. Call it when Return has returned true.
func (p *Pings) Result() PubResult { return p.result }
