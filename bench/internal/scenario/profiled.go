// SPDX-License-Identifier: Apache-2.0

package scenario

import "fmt"

// profiled are what shows of what kind the publisher's work for each subscriber is.
// It has no variants: the system is the one that has nothing else to do.
func profiled() []Scenario {
	var all []Scenario
	for _, subscribers := range []int{1, 4, 16} {
		all = append(all, Scenario{
			Group: "Where the publisher's time goes", Name: fmt.Sprintf("profile/%d", subscribers), Profiled: true, Longer: 2,
			Size: kib, Subscribers: subscribers, Metric: Messages, Rows: []string{"tagbus"},
		})
	}
	return all
}
