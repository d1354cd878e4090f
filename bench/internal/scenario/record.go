// SPDX-License-Identifier: Apache-2.0

package scenario

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
