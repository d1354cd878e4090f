// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"

	"tagbus/bench/internal/load"
)

// records compares a recorder on a memory disk with a subscriber that only counts, with
// one that writes the payloads and nothing else, and with recorders of other formats. What
// dd does is for information: one process has no bus, and its payloads in its cache.
func records() []Scenario {
	record := func(size, tags int, wants ...Goal) Scenario {
		return Scenario{
			Group: "Recording", Name: "record/" + label(size), Size: size, Tags: tags, Records: true, Metric: Messages,
			Subject: "tagbus-record", Wants: wants,
			Rows: []string{"tagbus-record", "recording", "tagbus-count", "tagbus-data", "dd", "mcap", "pcapng"},
		}
	}
	one := record(40, 1)
	one.Name += "/1-tag"
	return []Scenario{
		record(40, 1000, Goal{Of: "tagbus-count", AtLeast: 0.6}),
		record(kib, 1000, Goal{Of: "tagbus-data", AtLeast: 0.8}),
		one,
	}
}

// replays have a recording of messages at a fixed rate. The latency is how late each one is
// published.
func replays() []Scenario {
	var all []Scenario
	for _, rate := range []float64{1000, 100_000} {
		all = append(all, Scenario{
			Group: "Replay", Name: fmt.Sprintf("replay/64B/%.0f-per-s", rate), Work: load.WorkReplay, Size: 64, Tags: 1000, Rate: rate,
			Longer: 4, Metric: P50, Subject: "tagbus-replay", Rows: []string{"tagbus-replay"},
			Wants: []Goal{{Metric: P99, AtMost: 1e6}},
		})
	}
	return all
}
