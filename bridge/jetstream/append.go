// SPDX-License-Identifier: Apache-2.0

package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tagbus/bridge/durable"
)

// errTimeout is the outcome of an append that is not acknowledged in time.
var errTimeout = errors.New("bridge/jetstream: no acknowledgement in time: the stream has no leader, or is slow")

// errNoStream is the outcome of an append that no stream took.
var errNoStream = errors.New("bridge/jetstream: no stream takes the subject now: it has no leader, or was deleted")

// Append implements durable.Log.
func (l *Log) Append(a durable.Append) {
	n, err := l.register(a)
	if err != nil {
		a.Done(0, err)
		return
	}
	err = l.conn.PublishMsg(&nats.Msg{
		Subject: l.subjects.of(a.Key), Reply: l.inbox + strconv.FormatUint(n, 36), Data: a.Data,
		Header: nats.Header{
			jetstream.MsgIDHeader:               {a.ID},
			jetstream.ExpectedStreamHeader:      {l.cfg.Stream},
			jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(uint64(a.After), 10)},
		},
	})
	if err != nil {
		l.finish(n, 0, l.explain(err))
	}
}

// register notes an append that begins.
func (l *Log) register(a durable.Append) (n uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.refused != nil:
		return 0, l.refused
	case l.over:
		return 0, durable.ErrClosed
	case l.copy != "":
		return 0, l.refuse("stream %s is a copy of stream %s, and takes no records: name that one", l.cfg.Stream, l.copy)
	}
	l.last++
	l.flights[l.last] = flight{a.Done, time.Now().Add(l.cfg.AckTimeout)}
	return l.last, nil
}

// finish tells the outcome of an append, unless it is told already.
func (l *Log) finish(n uint64, at durable.Position, err error) {
	l.mu.Lock()
	f, ok := l.flights[n]
	delete(l.flights, n)
	l.mu.Unlock()
	if ok {
		f.done(at, err)
	}
}

// failAll tells all appends on their way that their outcome is unknown, or what is refused.
func (l *Log) failAll(err error) { l.fail(err, func(flight) bool { return true }) }

func (l *Log) fail(err error, which func(flight) bool) {
	var some []flight
	l.mu.Lock()
	if l.refused != nil {
		err = l.refused
	}
	for n, f := range l.flights {
		if which(f) {
			some = append(some, f)
			delete(l.flights, n)
		}
	}
	l.mu.Unlock()
	for _, f := range some {
		f.done(0, err)
	}
}

// watchTimes ends appends that are not acknowledged in time.
func (l *Log) watchTimes() {
	tick := time.NewTicker(max(l.cfg.AckTimeout/8, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			l.fail(errTimeout, func(f flight) bool { return now.After(f.until) })
		case <-l.closed:
			return
		}
	}
}

// absence is how long a stream may seem not to exist.
const absence = time.Second

// watchStream looks for the stream when none has taken a record: one that was deleted comes back by its owner only.
func (l *Log) watchStream() {
	missed := false
	for {
		select {
		case <-l.absent:
		case <-l.closed:
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), l.cfg.AckTimeout)
		_, err := l.js.Stream(ctx, l.cfg.Stream)
		cancel()
		gone := errors.Is(err, jetstream.ErrStreamNotFound)
		if gone && missed {
			l.giveUp(l.explain(err))
			return
		}
		missed = gone
		pause := time.NewTimer(absence)
		select {
		case <-pause.C:
		case <-l.closed:
		}
		pause.Stop()
	}
}

// acknowledgement is what a stream answers.
type acknowledgement struct {
	Stream   string              `json:"stream"`
	Sequence uint64              `json:"seq"`
	Error    *jetstream.APIError `json:"error"`
}

// onAck takes the answer to an append.
func (l *Log) onAck(m *nats.Msg) {
	n, err := strconv.ParseUint(strings.TrimPrefix(m.Subject, l.inbox), 36, 64)
	if err != nil {
		return // no answer to any of ours
	}
	at, err := l.outcome(m)
	l.finish(n, at, err)
}

// outcome reads an acknowledgement.
func (l *Log) outcome(m *nats.Msg) (durable.Position, error) {
	if len(m.Data) == 0 && m.Header.Get("Status") == "503" {
		select {
		case l.absent <- struct{}{}:
		default: // it is looked for
		}
		return 0, errNoStream
	}
	var a acknowledgement
	if err := json.Unmarshal(m.Data, &a); err != nil {
		return 0, l.refuse("what answers for stream %s is no JetStream: %v", l.cfg.Stream, err)
	}
	switch {
	case a.Error != nil:
		return 0, l.explain(a.Error)
	case a.Stream != l.cfg.Stream:
		return 0, l.refuse("stream %q has taken a record of stream %s: the two have subjects in common", a.Stream, l.cfg.Stream)
	}
	return durable.Position(a.Sequence), nil
}
