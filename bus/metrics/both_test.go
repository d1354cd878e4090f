// SPDX-License-Identifier: Apache-2.0

package metrics_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"tagbus/bus"
	"tagbus/bus/metrics"
)

// filledBoth is filled for a sender and a receiver.
func filledBoth() (collectors []prometheus.Collector, values []map[string]int) {
	var snd bus.SenderStats
	var link bus.SubscriberState
	var rcv bus.SubscriberStats
	var lane bus.LaneState
	values = append(values, number(&snd, 501), number(&snd.PublisherStats, 601), number(&link, 701), number(&rcv, 801), number(&lane, 901))
	rcv.EntryFailing = true
	lane.Policy = bus.Policy{Kind: bus.DropOldest}
	link.Lanes = []bus.LaneState{lane}
	link.Peer = bus.Peer{Instance: "rcvA", Name: "front end", Host: "pc-07", PID: 4711, Addr: netip.MustParseAddrPort("10.0.0.2:40000"), Backend: "shm"}
	snd.Subscribers = []bus.SubscriberState{link}
	rcv.ByBackend = []bus.BackendCount{{Backend: "shm", Connections: 2}}
	return []prometheus.Collector{
		metrics.OfSender(func() bus.SenderStats { return snd }),
		metrics.OfReceiver(func() bus.SubscriberStats { return rcv }),
	}, values
}

func TestEachMetricOfTheOtherDirectionHasItsCounter(t *testing.T) {
	const peer = "{host=pc-07,name=front end}"
	const ofLane = "host=pc-07,name=front end,policy=drop-oldest}"
	collectors, values := filledBoth()
	own, snd, link, rcv, lane := values[0], values[1], values[2], values[3], values[4]
	want := map[string]float64{
		"tagbus_sender_no_receiver_total":           float64(own["NoReceiver"]),
		"tagbus_sender_acked_messages_total":        float64(own["Acked"]),
		"tagbus_sender_unacked_messages_total":      float64(own["Unacked"]),
		"tagbus_sender_messages_total":              float64(snd["Messages"]),
		"tagbus_sender_payload_bytes_total":         float64(snd["Bytes"]),
		"tagbus_sender_refusals_total":              float64(snd["Refusals"]),
		"tagbus_sender_unconfirmed_messages":        float64(snd["Unconfirmed"]),
		"tagbus_sender_dropped_messages_total":      float64(snd["Dropped.Overflowed"] + snd["Dropped.Panicked"]),
		"tagbus_sender_silent_receivers_total":      float64(snd["Silent"]),
		"tagbus_sender_stalled_receivers_total":     float64(snd["Stalled"]),
		"tagbus_sender_receivers":                   1,
		"tagbus_sender_broken_connections_total":    float64(snd["Broken"]),
		"tagbus_sender_own_stalls_total":            float64(snd["OwnStalls"]),
		"tagbus_sender_not_allowed_total":           float64(snd["NotAllowed"]),
		"tagbus_sender_receiver_connections" + peer: 1,
		"tagbus_sender_receiver_info{addr=10.0.0.2:40000,host=pc-07,name=front end,receiver=rcvA}": 1,
		"tagbus_sender_pool_pages":                            float64(snd["Pages"]),
		"tagbus_sender_pool_free_pages":                       float64(snd["PagesFree"]),
		"tagbus_sender_pool_min_free_pages":                   float64(snd["MinPagesFree"]),
		"tagbus_sender_cached_messages":                       float64(snd["Cached"]),
		"tagbus_sender_cached_bytes":                          float64(snd["CachedBytes"]),
		"tagbus_sender_awaited_receivers":                     float64(snd["Awaited"]),
		"tagbus_sender_replayed_messages_total":               float64(snd["Replayed"]),
		"tagbus_sender_lost_messages_total{cause=full}":       float64(snd["Losses.Full"]),
		"tagbus_sender_lost_messages_total{cause=memory}":     float64(snd["Losses.Memory"]),
		"tagbus_sender_lost_messages_total{cause=connection}": float64(snd["Losses.Connection"]),
		"tagbus_sender_left_out_messages_total":               float64(snd["Losses.LeftOut"]),

		"tagbus_sender_receiver_queued_bytes{" + ofLane:                          float64(lane["Queued"]),
		"tagbus_sender_receiver_queue_limit_bytes{" + ofLane:                     float64(lane["Limit"]),
		"tagbus_sender_receiver_unconfirmed_messages{" + ofLane:                  float64(lane["Unconfirmed"]),
		"tagbus_sender_receiver_lost_messages_total{" + at("full", ofLane):       float64(lane["Losses.Full"]),
		"tagbus_sender_receiver_lost_messages_total{" + at("memory", ofLane):     float64(lane["Losses.Memory"]),
		"tagbus_sender_receiver_lost_messages_total{" + at("connection", ofLane): float64(lane["Losses.Connection"]),
		"tagbus_sender_receiver_left_out_messages_total{" + ofLane:               float64(lane["Losses.LeftOut"]),

		"tagbus_sender_receiver_sent_messages_total" + peer: float64(link["Messages"]),
		"tagbus_sender_receiver_sent_bytes_total" + peer:    float64(link["Bytes"]),
		"tagbus_sender_receiver_sent_pages_total" + peer:    float64(link["Pages"]),
		"tagbus_sender_receiver_free_sends" + peer:          float64(link["SendsFree"]),
		"tagbus_sender_receiver_min_free_sends" + peer:      float64(link["MinSendsFree"]),

		"tagbus_sender_receivers_by_backend{backend=shm}":       1,
		"tagbus_receiver_senders_by_backend{backend=shm}":       2,
		"tagbus_receiver_senders":                               float64(rcv["Publishers"]),
		"tagbus_receiver_messages_total":                        float64(rcv["Messages"]),
		"tagbus_receiver_payload_bytes_total":                   float64(rcv["Bytes"]),
		"tagbus_receiver_pages_total":                           float64(rcv["Pages"]),
		"tagbus_receiver_lost_messages_total{cause=full}":       float64(rcv["Losses.Full"]),
		"tagbus_receiver_lost_messages_total{cause=memory}":     float64(rcv["Losses.Memory"]),
		"tagbus_receiver_lost_messages_total{cause=connection}": float64(rcv["Losses.Connection"]),
		"tagbus_receiver_lost_messages_total{cause=ended}":      float64(rcv["Losses.Ended"]),
		"tagbus_receiver_left_out_messages_total":               float64(rcv["Losses.LeftOut"]),
		"tagbus_receiver_overflowed_messages_total":             float64(rcv["Overflowed"]),
		"tagbus_receiver_unwanted_messages_total":               float64(rcv["Unwanted"]),
		"tagbus_receiver_broken_connections_total":              float64(rcv["Broken"]),
		"tagbus_receiver_own_stalls_total":                      float64(rcv["OwnStalls"]),
		"tagbus_receiver_not_allowed_total":                     float64(rcv["NotAllowed"]),
		"tagbus_receiver_entry_failing":                         1,
		"tagbus_receiver_panics_total":                          float64(rcv["Panics"]),
		"tagbus_receiver_silent_senders_total":                  float64(rcv["Silent"]),
		"tagbus_receiver_retained_messages":                     float64(rcv["Retained"]),
		"tagbus_receiver_retained_bytes":                        float64(rcv["RetainedBytes"]),
		"tagbus_receiver_retain_refusals_total":                 float64(rcv["RetainRefused"]),
	}
	if diff := cmp.Diff(want, gather(t, collectors...)); diff != "" {
		t.Errorf("metrics differ (-want +got):\n%s", diff)
	}
}

// TestEachCounterOfTheOtherDirectionHasItsMetric is TestEachCounterHasItsMetric
// for senders.
func TestEachCounterOfTheOtherDirectionHasItsMetric(t *testing.T) {
	collectors, values := filledBoth()
	left := map[int]bool{
		values[1]["Streams"]:            true, // a tag has one receiver
		values[1]["Strangers"]:          true, // no peer dials a sender
		values[1]["Losses.Ended"]:       true, // only a receiver knows
		values[2]["Parts"]:              true, // says what a receiver asked for, not how it is doing
		values[2]["Queued"]:             true, // the lanes' together
		values[2]["Limit"]:              true, // the lanes have theirs
		values[3]["Lost"]:               true, // the causes together
		values[3]["LeftOut"]:            true, // in Losses, too
		values[4]["Parts"]:              true,
		values[4]["ID"]:                 true, // no count
		values[4]["Sent"]:               true, // there is one for all lanes
		values[4]["Losses.Ended"]:       true,
		values[1]["Dropped.Overflowed"]: true, // there is one for both causes
		values[1]["Dropped.Panicked"]:   true, // there is one for both causes
		values[4]["Dropped.Overflowed"]: true, // the peer has its own metric; tagbus losses names it
		values[4]["Dropped.Panicked"]:   true, // the peer has its own metric; tagbus losses names it
	}
	var shown []float64
	for _, v := range gather(t, collectors...) {
		shown = append(shown, v)
	}
	for _, fields := range values {
		for field, value := range fields {
			if got, want := slices.Contains(shown, float64(value)), !left[value]; got != want {
				t.Errorf("%s: got a metric: %v, want %v", field, got, want)
			}
		}
	}
}
