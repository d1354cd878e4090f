package scenario

import "tagbus/bench/internal/load"

// settings compares the defaults of the TCP backend with what can be set instead.
func settings() []Scenario {
	var all []Scenario
	for _, size := range []int{40, 4 * kib, 64 * kib} {
		s := Scenario{Group: "TCP settings", Name: "settings/" + label(size), Size: size, Metric: Messages, Subject: "tagbus-p1"}
		if size >= 64*kib {
			s.Metric = Bytes
		}
		for _, name := range []string{"", "+systemcc", "+nagle", "+send256k", "+receive256k", "+read64k", "+read1m"} {
			s.Rows = append(s.Rows, Row{System: "tagbus-p1" + name})
		}
		all = append(all, s)
	}
	return append(all, Scenario{
		Group: "TCP settings", Name: "settings/pingpong/64B", Work: load.WorkPingPong, Size: 64, Metric: P50, Subject: "tagbus-immediate",
		Rows: []Row{
			{System: "tagbus-immediate"},
			{System: "tagbus-immediate+quickack"},
			{System: "tagbus-immediate+busypoll"},
			{System: "tagbus-immediate+nagle"},
		},
	})
}
