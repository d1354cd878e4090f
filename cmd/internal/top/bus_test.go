// SPDX-License-Identifier: Apache-2.0

package top

import (
	"errors"
	"fmt"
	"time"

	"tagbus/bus/directory"
	"tagbus/bus/state"
	"tagbus/cmd/internal/overview"
	"tagbus/tags"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// made is what a hand-made publisher has done in a second.
type made struct {
	name, host      string
	messages, bytes uint64
	refusals        uint64
	free            int
	losses          []state.Loss // until now
	lostBefore      uint64       // of the first of these, until the look before
	peers           []state.Peer
}

func losses(cause state.Cause, n uint64) []state.Loss {
	return []state.Loss{{Cause: cause, Messages: n}}
}

// peer returns one with a lane of 1,000 bytes.
func peer(name, host, policy string, queued int, messages uint64) state.Peer {
	return state.Peer{
		Backend: "tcp", Instance: "id-" + name, Name: name, Host: host, Since: noon.Add(-time.Hour), Messages: messages, Bytes: 4000 * messages,
		RoundTrip: 85e-6, Queued: &queued, QueueLimit: new(1000),
		Lanes: []state.Lane{{Policy: policy, Queued: queued, QueueLimit: 1000}},
	}
}

func (m made) row() overview.Row {
	now := &state.State{
		Instance: "id-" + m.name, Time: noon, Role: state.Publisher, Messages: 1_000_000 + m.messages, PayloadBytes: 1e9 + m.bytes,
		Losses: m.losses, Sending: &state.Sending{Refusals: m.refusals, PoolPages: 1024, PoolFreePages: m.free},
		Connected: len(m.peers), Peers: m.peers,
	}
	before := &state.State{Instance: "id-" + m.name, Time: noon.Add(-time.Second), Messages: 1_000_000, PayloadBytes: 1e9, Sending: &state.Sending{}}
	if len(m.losses) > 0 {
		before.Losses = losses(m.losses[0].Cause, m.lostBefore)
	}
	for _, p := range m.peers {
		if !p.StalledSince.IsZero() {
			now.Stalled++
		} else {
			p.Losses = nil
		}
		now.Fullest = max(now.Fullest, float64(*p.Queued)/float64(*p.QueueLimit))
		p.Messages /= 2
		p.Bytes /= 2
		before.Peers = append(before.Peers, p)
	}
	return overview.Row{
		Entry: directory.Entry{Instance: "id-" + m.name, Name: m.name, Host: m.host, Tags: tags.Of(0x100, 0x101)},
		State: now, Before: before,
	}
}

// small returns a bus with one of each.
func small() overview.Overview {
	stalled := peer("archive", "disk-01", "block", 1000, 10)
	stalled.StalledSince = noon.Add(-95 * time.Second)
	losing := peer("monitor-with-a-long-name", "console-01", "drop-oldest", 980, 240_000)
	losing.Losses = losses(state.Full, 1234)
	fine := peer("builder", "evb-07", "block", 35, 20_000)
	fine.Backend = "shm"
	rows := []overview.Row{
		made{name: "felix-01", host: "ru-01", messages: 12_345, bytes: 50_400_000, free: 1000, peers: []state.Peer{fine}}.row(),
		made{name: "felix-02", host: "ru-02", messages: 0, bytes: 0, refusals: 250, free: 0, peers: []state.Peer{stalled, fine}}.row(),
		made{name: "felix-03", host: "ru-03", messages: 99_960, bytes: 1_250_000_000, free: 512, losses: losses(state.Full, 1234), peers: []state.Peer{losing}}.row(),
		made{name: "trigger", host: "ru-04.a.very.long.domain.example", messages: 3, bytes: 120, free: 1024, losses: append(losses(state.Memory, 15), state.Loss{Cause: state.Connection, Messages: 70_000}), lostBefore: 70_015}.row(),
		made{name: "世界\x1b[2J", host: "x\ny"}.row(),
	}
	rows[4].Before = nil
	rows = append(rows,
		overview.Row{
			Entry: directory.Entry{Instance: "id-9", Name: "felix-09", Host: "ru-09"}, Err: errors.New("netio: open endpoint 10.0.0.9:7000: connection refused"),
			SilentSince: noon.Add(-12 * time.Second),
		},
		overview.Row{
			Entry: directory.Entry{Instance: "vVQxDsl8GgpDpYqDhX0hKm", Host: "sink-01", Role: directory.Receiver},
			State: &state.State{Instance: "vVQxDsl8GgpDpYqDhX0hKm", Time: noon, Messages: 12, Connected: 1, Losses: losses(state.Ended, 7), Peers: []state.Peer{peer("source", "src-01", "block", 0, 12)}},
			Before: &state.State{
				Instance: "vVQxDsl8GgpDpYqDhX0hKm", Time: noon.Add(-time.Second), Messages: 2,
				Losses: losses(state.Ended, 7),
			},
		})
	return overview.Overview{Time: noon, Rows: rows}
}

// large returns a bus of n publishers that have a subscriber each.
func large(n int) overview.Overview {
	o := overview.Overview{Time: noon}
	for i := range n {
		p := peer(fmt.Sprintf("subscriber-%04d", i), fmt.Sprintf("host-%03d", i%300), "block", i%1000, uint64(1000+i))
		o.Rows = append(o.Rows, made{
			name: fmt.Sprintf("publisher-%04d", i), host: fmt.Sprintf("host-%03d", i%300), messages: uint64(10 * i), bytes: uint64(40_000 * i), free: 1000,
			peers: []state.Peer{p},
		}.row())
	}
	return o
}
